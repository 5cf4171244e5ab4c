# a key that llama.cpp reads gets the type that it reads, in a file without the key too
"$ckpt" convert "$testdata/qwen3-micro" m.gguf --tokenizer-pre qwen2 -q >/dev/null || exit 9
set_key() {
  "$ckpt" patch m.gguf -q --step "metadata:set=$1" 2>&1 >/dev/null; echo "$1: exit $?"
}
set_key tokenizer.ggml.bos_token_id=5
set_key qwen3.rope.scaling.type=yarn
set_key qwen3.rope.scaling.factor=4
set_key tokenizer.ggml.add_bos_token=false
set_key my.key=5
"$ckpt" inspect m.gguf --metadata | grep -E "bos|scaling|my.key"
"$ckpt" doctor m.gguf --for llama.cpp; echo "exit $?"
set_key tokenizer.ggml.bos_token_id=five
set_key tokenizer.ggml.bos_token_id=text:5
set_key tokenizer.ggml.eos_token_id=u64:5
set_key qwen3.rope.freq_base=bool:true
set_key tokenizer.ggml.add_eos_token=1
set_key tokenizer.ggml.tokens=a
set_key tokenizer.ggml.scores=f32:1
# the number's type in the file is wrong: u32 where a float is read
python3 - <<'EOF'
raw = open("m.gguf", "rb").read()
known, other = b"qwen3.rope.scaling.factor", b"qwen3.rope.scaling.fa"
at = raw.index(known) + len(known)
assert raw[at:at + 4] == b"\6\0\0\0"
open("m.gguf", "wb").write(raw[:at] + b"\4\0\0\0" + raw[at + 4:])
EOF
"$ckpt" doctor m.gguf --for llama.cpp; echo "exit $?"
set_key qwen3.rope.scaling.factor=4
"$ckpt" doctor m.gguf --for llama.cpp; echo "exit $?"
