# pieces without tokenizer.model: what llama.cpp splits differently, of the folder, of the
# converter's GGUF alone and with the source, and the fix
cp -r "$testdata/families/tinyllama/hf" source
"$ckpt" doctor source --for llama.cpp; echo "exit $?"
"$ckpt" convert source equal.gguf --tokenizer-as converter -q >/dev/null || exit 9
"$ckpt" doctor equal.gguf; echo "exit $?"
"$ckpt" doctor equal.gguf --base source; echo "exit $?"
"$ckpt" doctor equal.gguf --base source --fix -q; echo "exit $?"
"$ckpt" convert source faithful.gguf -q >/dev/null || exit 9
"$ckpt" doctor faithful.gguf --base source; echo "exit $?"
"$ckpt" diff equal.gguf faithful.gguf; echo "exit $?"
# a rule of Qwen's tokenizer that llama.cpp does not have
"$ckpt" doctor "$testdata/qwen3-micro" --for llama.cpp; echo "exit $?"
# one that changes ordinary texts is noted too
mkdir lower && cp "$testdata"/qwen3-micro/* lower && sed 's/"type": "NFC"/"type": "Lowercase"/' "$testdata/qwen3-micro/tokenizer.json" > lower/tokenizer.json
"$ckpt" doctor lower --for llama.cpp | grep T19
"$ckpt" convert lower q.gguf --to bf16 -q 2>&1 >/dev/null
"$ckpt" convert lower q2.gguf --to bf16 2>&1 >/dev/null | grep normalizer
