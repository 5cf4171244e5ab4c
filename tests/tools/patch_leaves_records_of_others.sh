# A patch removes what ckpt publish wrote and would write again. What somebody else wrote stays, and a signature, which only the holder
# of the key can make again; a note tells of each.
key="$testdata/publish/p256" theta=5000
start() { rm -rf m && cp -r "$testdata/qwen3-micro" m; }
try() { "$ckpt" patch m --step config:set=rope_theta=$((theta = theta + 1)) > /dev/null 2> said; echo "exit $?"; cat said; (cd m && ls | grep -E '^(SHA256SUMS|model.sig|provenance.json|report.html)$'); }
echo "-- published"; start; "$ckpt" publish m --provenance --report --sign $key.pem -q > /dev/null; try
echo "-- then it does not count as signed"; "$ckpt" verify m --public-key $key.pub > /dev/null; echo "exit $?"
"$ckpt" publish m -q 2>&1; "$ckpt" publish m --unsigned -q > /dev/null 2>&1; echo "exit $?"
echo "-- sums of some files"; start; (cd m && sha256sum config.json > SHA256SUMS); try
echo "-- sums of what lies elsewhere, too"; start; (cd m && sha256sum * ../said > SHA256SUMS); try
echo "-- a text of that name"; start; echo "see the mirror" > m/SHA256SUMS; echo "<p>mine</p>" > m/report.html; echo '{"built": "by hand"}' > m/provenance.json; try
echo "-- another program's provenance, which publish does not replace, either"; start
echo '{"_type": "https://in-toto.io/Statement/v1", "predicate": {"runDetails": {"builder": {"id": "https://example.org"}}}}' > m/provenance.json
try; "$ckpt" publish m --provenance -q 2>&1; echo "exit $?"
