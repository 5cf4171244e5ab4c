# Names and shapes of all parameters follow from config.json: what is missing, of another shape, or not the model's.
said() { "$ckpt" doctor "$1" --for "$2" | grep -v -e '^    ' -e '^$'; }
cp -r "$testdata/qwen3-micro" m
chmod -R u+w m
echo "== sizes that the weights contradict"
sed -i 's/"hidden_size": 256/"hidden_size": 512/' m/config.json
said m vllm-0.17
"$ckpt" convert m m.gguf --outtype bf16 --tokenizer-pre qwen2; echo $?
ls m.gguf 2>/dev/null
sed -i 's/"hidden_size": 512/"hidden_size": 256/; s/"head_dim": 64,//' m/config.json
said m vllm-0.17
echo "== a norm that is missing"
"$ckpt" convert "$testdata/qwen3-micro" less --step 'drop:tensors=*.1.self_attn.q_norm.weight' --quiet >/dev/null
for profile in vllm-0.17 sglang llama.cpp transformers-5; do said less $profile; done
echo "== a tensor of another model"
"$ckpt" convert "$testdata/qwen3-micro" more --quiet >/dev/null \
  --step 'rename:from=model.layers.2.self_attn.q_norm.weight,to=model.layers.2.self_attn.extra.weight'
said more vllm-0.17
said more vllm
echo "== a family without a list"
cp -r "$testdata/llama-micro" other
chmod -R u+w other
sed -i 's/LlamaForCausalLM/ApertusForCausalLM/; s/"model_type": "llama"/"model_type": "apertus"/' other/config.json
said other vllm; echo $?
"$ckpt" doctor other --for vllm --json | grep verdict
