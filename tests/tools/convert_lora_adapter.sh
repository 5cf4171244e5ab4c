# A LoRA adapter is not a model: the error names it, where a model is needed
mkdir lora
python3 - <<'P'
import json, struct
name = "base_model.model.model.layers.0.self_attn.q_proj.lora_%s.weight"
header = {name % "A": {"dtype": "F32", "shape": [8, 64], "data_offsets": [0, 2048]},
          name % "B": {"dtype": "F32", "shape": [64, 8], "data_offsets": [2048, 4096]}}
text = json.dumps(header).encode()
open("lora/adapter_model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(4096))
open("lora/adapter_config.json", "w").write('{"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen3-8B"}')
P
for words in "o.gguf --to q8_0" "o --to nvfp4-w4a16" "o --also p.gguf=bf16" "o --to bf16"; do
  "$ckpt" convert lora $words --quiet 2>&1 >/dev/null; echo "exit $?"
done
"$ckpt" convert lora copy 2>&1 >/dev/null | head -1
"$ckpt" show lora | head -1
"$ckpt" doctor lora --for vllm | grep -A4 C01
echo "== an adapter is its own two files, and every command calls it by its name"
cp "$testdata/qwen3-micro/model.safetensors" lora/merged.safetensors
"$ckpt" verify lora | head -2
"$ckpt" diff lora "$testdata/qwen3-micro" 2>&1 >/dev/null
"$ckpt" report lora --json | grep -o '"architecture":"[^"]*"'
"$ckpt" convert lora again 2>&1 >/dev/null | grep Next
"$ckpt" doctor lora | grep -c '^[A-Z][0-9]'
