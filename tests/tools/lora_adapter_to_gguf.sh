# An adapter with --base becomes the GGUF that convert_lora_to_gguf.py writes; scales that it loses are reported
lora="$testdata/lora"
while read -r sum file; do
  name=${file%%.*}
  type=${file#*.}
  "$ckpt" convert "$lora/$name" "$file" --base "$testdata/llama-micro" --to "${type%.gguf}" 2>&1 >/dev/null | grep note
  echo "$sum  $file" | sha256sum -c
done < "$lora/gguf.sha256"
"$ckpt" convert "$lora/conventions" default.gguf --base "$testdata/llama-micro" --quiet >/dev/null
"$ckpt" show default.gguf --metadata | tail -6
for name in dora-rslora-bf16 trainable-tokens; do
  "$ckpt" convert "$lora/$name" out.gguf --base "$testdata/qwen3-micro" 2>&1; echo "exit $?"
done
"$ckpt" convert "$lora/conventions" out.gguf --base "$testdata/llama-micro" --to q4_k_m 2>&1; echo "exit $?"
"$ckpt" convert "$lora/conventions" out.gguf 2>&1; echo "exit $?"
