cp -r "$testdata/qwen3-micro" m && cd m && sha256sum * > SHA256SUMS && cd ..
"$ckpt" verify m; echo $?
echo >> m/config.json; rm m/generation_config.json
"$ckpt" verify m; echo $?
