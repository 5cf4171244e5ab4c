# Infinity and NaN, which Python reads and writes, are valid and stay as they are; what it refuses is a fault
cp -r "$testdata/llama-micro" m && chmod -R u+w m
sed -i 's/"initializer_range": 0.02/"initializer_range": Infinity, "x": [NaN, -Infinity, 1e999]/' m/config.json
"$ckpt" convert m out --for vllm-0.17 -q > /dev/null; echo "exit $?"
"$ckpt" doctor out --for vllm-0.17 | head -2
grep -A5 Infinity out/config.json
sed -i 's/NaN/nan/' out/config.json
"$ckpt" doctor out --for vllm-0.17 | sed -n '1,4p'
