cp -r "$testdata/qwen3-micro" m; before=$(ls -a m | sha256sum)
tell() { "$ckpt" publish "$@" 2>&1; echo $?; }
tell "$testdata/qwen3-micro/config.json"
tell m --sign "$testdata/publish/ed25519.pem"
tell m --lfs m/pointers
tell m --certificate "$testdata/publish/leaf.crt"
ln -s config.json m/link; tell m; rm m/link
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' > m/other.safetensors; tell m; rm m/other.safetensors
touch m/.ckpt-journal; tell m; rm m/.ckpt-journal
[ "$before" = "$(ls -a m | sha256sum)" ] && echo nothing was written
