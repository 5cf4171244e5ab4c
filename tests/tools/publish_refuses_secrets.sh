# Keys, passwords and tokens are refused by name or by what is in the file.
cp -r "$testdata/qwen3-micro" m; before=$(ls -aR m | sha256sum)
body=MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7
token=hf_abcdefghijKLMNOPQRSTuvwxyzABCDEFGH
refused() { mkdir -p "m/$(dirname "$1")"; printf '%b' "$2" > "m/$1"; "$ckpt" publish m --force 2>&1; echo $?; rm "m/$1"; rmdir -p "m/$(dirname "$1")" 2>/dev/null; }
passes() { printf '%b' "$2" > "m/$1"; "$ckpt" publish m -q > /dev/null; echo "$1: $?"; rm "m/$1" m/SHA256SUMS; }
refused .env 'A=1'
refused prod.env 'A=1'
refused release.PEM x
refused train/id_ed25519 x
refused .ssh/config x
refused .cache/huggingface/token x
refused notes.txt "see below\n-----BEGIN EC PRIVATE KEY-----\n$body\n"
refused account.json "{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\\\n$body\\\\n\"}"
refused run.sh "HF_TOKEN=$token python train.py\n"
refused .env.local 'A=1'
refused .envrc 'export A=1'
refused store.kdbx x
refused keys/putty.ppk x
refused application_default_credentials.json '{}'
refused .kube/config x
refused .docker/config.json '{}'
refused secrets.yaml 'a: b'
refused push.sh "git push https://ghp_abcdefghijKLMNOPQRSTuvwxyzABCDEFGHab@github.com/a/b\n"
refused env.txt "AWS_ACCESS_KEY_ID=AKIAABCDEFGHIJKLMNOP\n"
passes README.md 'A key begins with -----BEGIN PRIVATE KEY----- and then comes the key.\n'
passes names.txt "an$token ${token}a hf_token\n"
passes .env.example 'A=\n'
passes release.pub "-----BEGIN PUBLIC KEY-----\n$body\n"
[ "$before" = "$(ls -aR m | sha256sum)" ] && echo nothing was written
