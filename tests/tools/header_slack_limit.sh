# a header gets no more room than readers take
"$ckpt" convert "$testdata/qwen35-micro" a.gguf --header-slack 2G 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/qwen35-micro" out --header-slack 65M 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/qwen35-micro" a.gguf --header-slack 64M -q > /dev/null && "$ckpt" show a.gguf > /dev/null; echo "exit $?"
"$ckpt" convert "$testdata/qwen35-micro" out --header-slack 64M -q > /dev/null && "$ckpt" show out > /dev/null; echo "exit $?"
