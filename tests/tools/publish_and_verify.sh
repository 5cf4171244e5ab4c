cp -r "$testdata/qwen3-micro" m
"$ckpt" publish m --sign "$testdata/publish/p256.pem" --source "$testdata/qwen3-micro" >/dev/null || exit 9
(cd m && sha256sum -c --quiet --strict SHA256SUMS) && echo sums agree
"$ckpt" verify m --public-key "$testdata/publish/p256.pub" >/dev/null; echo $?
cp m/provenance.json first.json
"$ckpt" publish m --source "$testdata/qwen3-micro" --quiet >/dev/null && cmp first.json m/provenance.json && echo the same provenance
# the signature still signs what is there; another state makes it stale
ls m/model.sig
echo >> m/config.json
"$ckpt" publish m --rehash --unsigned >/dev/null 2>note; cat note; ls m/model.sig 2>&1
mv m/config.json m/Config.json; touch m/extra
"$ckpt" verify m | grep -v 'as listed'; echo $?
