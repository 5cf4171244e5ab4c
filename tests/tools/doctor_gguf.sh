# a GGUF for llama.cpp: sound, with a tokenizer nobody knows, and a split that lacks a part
"$ckpt" convert "$testdata/qwen3-micro" m.gguf --to nvfp4-ggml -q >/dev/null || exit 9
"$ckpt" doctor m.gguf --for llama.cpp; echo "exit $?"
"$ckpt" patch m.gguf -q --step metadata:set=tokenizer.ggml.pre=mine,set=general.architecture=qwen99 >/dev/null || exit 9
"$ckpt" doctor m.gguf --for llama.cpp; echo "exit $?"
"$ckpt" convert "$testdata/qwen3-micro" s.gguf --split-size 2MB -q >/dev/null || exit 9
rm s-00002-of-*.gguf
"$ckpt" doctor s-00001-of-*.gguf --for llama.cpp; echo "exit $?"
