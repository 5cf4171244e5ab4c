# An OpenSSL configuration without the default provider: no signature is made, and none is called bad. A static ckpt reads
# no such configuration.
cat > base.cnf <<'END'
openssl_conf = init
[init]
providers = providers
[providers]
base = base
[base]
activate = 1
END
sed 's/base = base/legacy = legacy/; s/^\[base\]/[legacy]/' base.cnf > legacy.cnf
openssl ecparam -name prime256v1 -genkey -noout -out release.pem
openssl ec -in release.pem -pubout -out release.pub 2>/dev/null
cp -r "$testdata/qwen3-micro" m
for each in base legacy; do
  OPENSSL_CONF=$PWD/$each.cnf "$ckpt" publish m --sign release.pem 2>&1; echo "exit $?"
done
ls m | grep -c -e SHA256SUMS -e model.sig
"$ckpt" publish m --sign release.pem --quiet > /dev/null || echo failed
OPENSSL_CONF=$PWD/base.cnf "$ckpt" verify m --public-key release.pub 2>&1; echo "exit $?"
OPENSSL_CONF=/dev/null "$ckpt" verify m --public-key release.pub > /dev/null 2>&1; echo "exit $?"
