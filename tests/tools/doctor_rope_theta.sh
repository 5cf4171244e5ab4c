# rope_theta as transformers 5 writes it, which vLLM 0.17 does not read: named, and fixed
cp -r "$testdata/qwen3-micro" m && chmod -R u+w m
sed -i 's/"rope_theta": 10000.0/"rope_theta": 1000000.0/' m/config.json
"$ckpt" doctor m --for vllm-0.17 | sed -n '/^C20/,/^$/p'
"$ckpt" convert m out --for vllm-0.17 -q > /dev/null; echo "exit $?"
grep -n rope_theta out/config.json
"$ckpt" doctor out --for vllm-0.17 --for vllm
