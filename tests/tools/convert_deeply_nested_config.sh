# a config.json of 10^6 nested brackets is refused, not followed down
cp -r "$testdata/qwen3-micro" in
python3 -c "n = 10**6; open('in/config.json', 'w').write('{\"architectures\":' + '[' * n + ']' * n + '}')"
"$ckpt" convert in out --to f16; echo $?
"$ckpt" convert in a.gguf --to q4_k_m; echo $?
ls
