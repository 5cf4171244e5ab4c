cp -r "$testdata/qwen3-micro" m && cd m && sha256sum * > SHA256SUMS && cd ..
"$ckpt" patch m --step config:set=rope_theta=5e5 --step metadata:remove=format --dry-run
"$ckpt" patch m --step config:set=rope_theta=5e5 --quiet
grep rope_theta m/config.json; ls -A m
"$ckpt" patch m --step config:set=rope_theta=5e5
"$ckpt" patch m --step config:set=rope_theta=5e5 --json
"$ckpt" patch m --step cast:type=f32; echo $?
"$ckpt" patch m; echo $?
"$ckpt" patch m --step drop:tensors=nothing; echo $?
"$ckpt" patch m --step 'rename:from=model.*.weight,to=x.*.weight,from=model.norm,to=y'; echo $?
"$ckpt" patch m --step config:set=a=yes; echo $?
"$ckpt" patch m/model.safetensors --step config:set=a=1; echo $?
