# Advice works when it is typed alone; where a step cannot be applied yet, the reason is shown.
fresh() { rm -rf m; cp -r "$testdata/qwen35-micro" m; chmod -R u+w m; }
said() { "$ckpt" doctor m --for "$1" | grep -E '^([A-Z][0-9]|    (fix|or): |Fix all)' | grep -A2 -E "$2"; }
echo "== no tokenizer.json: the step that would fix the tokenizer says what is missing"
fresh; rm m/tokenizer.json
said vllm-0.17 '^T0[24]'
"$ckpt" doctor m --for vllm-0.17 --json | grep '"type":"check".*"T02"' | grep -o '"mend":.*"step":"[^"]*"'
echo "== nor where the tokenizer is the slow one, and the finding is only to be known"
fresh; mv m/tokenizer.json m/tokenizer.model
sed -i 's/"tokenizer_class": .*/"tokenizer_class": "PreTrainedTokenizerFast",/; /"extra_special_tokens"/,/\]/d' m/tokenizer_config.json
said vllm-0.17 '^T04'
echo "== no model_type: the class says which, and only then can the model be wrapped"
fresh; sed -i '/"model_type"/d' m/config.json
said vllm-0.17 '^C0[13]'
"$ckpt" doctor m --for vllm-0.17 --fix 2>/dev/null | grep -E '^(fixed by|m:)'
echo "== a class that no table has: by hand"
fresh; sed -i '/"model_type"/d; s/Qwen3_5ForCausalLM/MysteryForCausalLM/' m/config.json
said vllm '^C01'
echo "== a step that another one makes needless is still what its finding needs"
fresh; "$ckpt" patch m -q --step vl-wrap >/dev/null 2>&1; rm m/*processor_config.json; cp "$testdata/qwen35-micro/model.safetensors" m/
said vllm '^P01'
"$ckpt" doctor m --for vllm --json | grep '"P01"' | grep -o '"fix":[a-z]*'
echo "== the name of a document is printed once"
for file in config.json tokenizer.json generation_config.json; do
  fresh; echo '{"a":' > m/$file
  "$ckpt" doctor m --for vllm | grep -E "^[A-Z][0-9]+ [a-z: ]+  $file"
done
echo "== who wrote the folder explains what was found, and only that"
fresh; said vllm-0.17 '^F04'
"$ckpt" doctor m --for vllm-0.17 --fix 2>/dev/null | sed -n '/^F04/,/^$/p'
