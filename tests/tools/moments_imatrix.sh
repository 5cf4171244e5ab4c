# --moments takes an importance matrix, of either kind of file, for what it is
model="$testdata/qwen3-micro"
pinned="--preset default-input-scale1 --search best"
python3 - <<'EOF'
import struct
def entry(name, count):
    values = [4.0 * (i % 7 + 1) for i in range(count)]
    return struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 4, count) + struct.pack(f"<{count}f", *values)
names = [(f"blk.{layer}.{role}.weight", 512 if role == "ffn_down" else 256) for layer in range(3)
         for role in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")]
open("i.dat", "wb").write(struct.pack("<i", len(names)) + b"".join(entry(*each) for each in names))
EOF
"$ckpt" imatrix merge -q i.dat -o i.gguf
"$ckpt" convert -q "$model" none --to nvfp4 $pinned >/dev/null
"$ckpt" convert -q "$model" imatrix --to nvfp4 $pinned --imatrix i.dat >/dev/null
for file in i.dat i.gguf; do
  "$ckpt" convert "$model" "of-$file-" --to nvfp4 $pinned --moments $file 2>&1 >/dev/null | grep note
  cmp "of-$file-/model.safetensors" imatrix/model.safetensors && echo "as --imatrix"
  "$ckpt" doctor "$model" --for llama.cpp --moments $file 2>&1 | grep "$file"
done
cmp -s none/model.safetensors imatrix/model.safetensors || echo "and another file than without"
echo '{"to": "nvfp4", "preset": "default-input-scale1", "search": "best", "moments": "i.dat"}' > r.json
"$ckpt" convert -q --recipe r.json "$model" recipe >/dev/null && cmp recipe/model.safetensors imatrix/model.safetensors && echo "as --imatrix"
echo "-- what is refused"
"$ckpt" convert "$model" x --to nvfp4 $pinned --moments i.dat --imatrix i.gguf; echo "exit $?"
"$ckpt" doctor "$model" --moments i.dat --imatrix i.gguf; echo "exit $?"
"$ckpt" convert -q "$model" model.gguf --to bf16 >/dev/null 2>&1
for file in model.gguf "$model" missing.dat; do "$ckpt" convert "$model" x --to nvfp4 $pinned --moments "$file"; echo "exit $?"; done
test -e x || echo "nothing was written"
