# Only the line that is edited differs: tabs, line ends, order and spelling stay.
mkdir m && cp "$testdata/qwen3-micro/tokenizer.json" m
printf '{\r\n\t"b": 1e-06,\r\n\t"architectures": [\r\n\t\t"X"\r\n\t],\r\n\t"a": 10000000.0\r\n}\r\n' > m/config.json
cp m/config.json before
"$ckpt" patch m --step config:set=a=2 -q > /dev/null; echo $?
diff before m/config.json | cat -A
