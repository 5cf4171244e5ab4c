# objects among the others, and only there
"$ckpt" verify $testdata/llama-micro --json --progress json -q | grep -c progress
"$ckpt" convert $testdata/llama-micro out --json --progress json 2>/dev/null | sed -n '1p' | cut -c1-55
"$ckpt" show $testdata/llama-micro --progress json 2>&1; echo "exit $?"
