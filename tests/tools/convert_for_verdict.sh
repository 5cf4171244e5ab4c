# --for a program that will not load what is made: written, noted, exit code 1, and no command to serve it
mkdir m && cp "$testdata"/mixed/qwen35-micro-awq-lite/* m/
"$ckpt" convert m out --for sglang >/dev/null 2>err; echo "exit $?"
ls out/config.json
grep -q "Try: --base DIR" err && echo "the flag that would help is named"
grep -o "out: sglang will not load it" err
grep -q "^sglang: " err || echo "no command to serve it"
"$ckpt" convert m out2 --for sglang --dry-run --json 2>/dev/null | grep '"verdict"'
"$ckpt" convert m out2 --for sglang --dry-run >/dev/null 2>&1; echo "exit $?"
"$ckpt" convert "$testdata/llama-micro" good.gguf --tokenizer-pre llama-bpe --for llama.cpp >/dev/null 2>&1; echo "exit $?"
