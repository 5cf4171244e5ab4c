# --dry-run checks what publish checks, tells what would be published, and writes nothing.
cp -r "$testdata/qwen3-micro" m; cp "$testdata/publish/p256.pem" key.pem
before=$(ls -aR . | sha256sum)
"$ckpt" publish m --dry-run --sign key.pem --archive m.tar.zst --lfs lfs --provenance --report --card m/README.md; echo $?
"$ckpt" publish m --dry-run --json | head -1
touch m/.env; "$ckpt" publish m --dry-run 2>&1; echo $?; rm m/.env
ln -s config.json m/link; "$ckpt" publish m --dry-run 2>&1; echo $?; rm m/link
[ "$before" = "$(ls -aR . | sha256sum)" ] && echo nothing was written
