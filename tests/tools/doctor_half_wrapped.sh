# A model of which only one half was wrapped: configuration, class or names. Each says which half is missing, and its fix fixes it.
text="$testdata/qwen35-micro"
cp -r "$text" wrapped; chmod -R u+w wrapped; "$ckpt" patch wrapped -q --step vl-wrap >/dev/null 2>&1
fresh() { rm -rf m; cp -r "$text" m; chmod -R u+w m; }
names() { cp wrapped/model.safetensors m/; }
type() { sed -i 's/"model_type": "qwen3_5_text"/"model_type": "qwen3_5"/' m/config.json; }
class() { sed -i 's/Qwen3_5ForCausalLM/Qwen3_5ForConditionalGeneration/' m/config.json; }
look() {
  for profile in "$@"; do
    "$ckpt" doctor m --for $profile | sed -n '1p; /^\(C0[234]\|W01\|P01\)/{p;n;n;n;p;}'
    rm -rf fixed
    "$ckpt" doctor m --for $profile --fix --out fixed 2>/dev/null | grep -E '^(fixed:|m: n)'
  done
}
echo "== names alone";                fresh; names;              look vllm-0.17 vllm
echo "== names and class";            fresh; names; class;       look vllm sglang llama.cpp
echo "== names, class and type";      fresh; names; class; type; look vllm-0.17
echo "== type alone";                 fresh; type;               look vllm-0.17
echo "== class and type";             fresh; class; type;        look vllm
echo "== configuration, not names";   fresh; cp wrapped/*.json m/; look vllm
echo "== names of a model that has no wrapper of its own go back"
rm -rf m; cp -r "$testdata/llama-micro" m; chmod -R u+w m
"$ckpt" patch m -q --step rename:from=model.,to=language_model.model.,from=lm_head.,to=language_model.lm_head. >/dev/null 2>&1
look vllm
rm -rf m; cp -r "$testdata/qwen3-micro" m; chmod -R u+w m
"$ckpt" patch m -q --step rename:from=model.,to= >/dev/null 2>&1 || "$ckpt" patch m -q --step rename:from=model.,to=model.language_model.
look vllm
