# Types below four bits: those that need an importance matrix say so, the others are made, and all are read again.
exec 2>&1
for type in iq1_s iq2_m iq3_xxs iq3_xs IQ3_S iq3_m tq1_0 TQ2_0; do
  echo "\$ llama-micro --to $type"
  "$ckpt" convert -q "$testdata/llama-micro" "$type.gguf" --to $type --tokenizer-pre llama-bpe
done
echo "\$ an embedding that no search without column weights fits"
"$ckpt" convert -q "$testdata/llama-micro" out.gguf --to q8_0 --token-embedding-type iq2_xs --tokenizer-pre llama-bpe
echo "\$ the way back"
"$ckpt" convert -q IQ3_S.gguf f32.gguf --to f32 --allow-requantize
"$ckpt" show IQ3_S.gguf | grep -i iq3_s
"$ckpt" diff IQ3_S.gguf f32.gguf | tail -3
echo "\$ a plan is shown without the matrix that making it takes"
"$ckpt" convert "$testdata/llama-micro" out.gguf --to iq2_xs --tokenizer-pre llama-bpe --dry-run | tail -7
"$ckpt" convert "$testdata/llama-micro" out.gguf --to iq2_xs --tokenizer-pre llama-bpe --plan-out p.json -q
