# A fix is a line that can be typed: real paths, a free name for OUT, and no circle.
followed() {  # types the command that `$1` names after "Fix all" or a finding, with the base where it has a blank
  line=$(printf '%s\n' "$1" | sed 's/=BASE/="base"/; s/ BASE/ base/')
  echo "typed: $line"
  sh -c "\"$ckpt\" ${line#ckpt } --quiet" >/dev/null 2>err; echo "exit $?"
  grep '^ckpt: ' err
}
fix() { "$ckpt" doctor "$1" --for "$2" | grep -A9 "^$3 " | sed -n 's/^    fix: \(ckpt .*\)/\1/p' | head -1; }
cp -r "$testdata/qwen35-micro" base
cp -r "$testdata/mixed/qwen35-micro-awq-lite" awq
cp -r "$testdata/nvfp4/qwen35-micro-mixed" mixed
cp -r "$testdata/export/qat-checkpoint" qat
chmod -R u+w .
echo "== AWQ in norms: the line with the base is below"
"$ckpt" doctor awq --for vllm-0.17 | grep -A1 '^Fix'
followed "$(fix awq vllm-0.17 Q17)"
followed "$("$ckpt" doctor awq --for vllm-0.17 | sed -n 's/^Fix the rest: //p')"
echo "== the error of --to names the same"
"$ckpt" convert awq out --to nvfp4 --for vllm
echo "exit $?"
echo "== weights that are quantized"
"$ckpt" convert mixed out --to nvfp4 --keep '*.k_proj'
said=$("$ckpt" convert mixed out --to nvfp4 --keep '*.k_proj' 2>&1 | sed 's/.*Try: //')
followed "$said"
followed "$(fix mixed sglang Q03)"
echo "== a folder whose name is taken gets another number"
fix mixed sglang Q03
echo "== a trainer's checkpoint is exported, never patched"
"$ckpt" doctor qat --for vllm | grep -E 'ckpt (patch|doctor)|^Fix'
followed "$(fix qat vllm Q16)"
echo "== draft layers that are declared"
cp -r "$testdata/families/glm4-moe/hf" glm
cp -r "$testdata/families/qwen35-vl/hf" vl
for name in glm vl; do
  [ $name = glm ] && tensors='model.layers.2.*' || tensors='mtp.*'
  "$ckpt" doctor $name | grep -c '^W13'
  "$ckpt" convert $name $name-cut --step "drop:tensors=$tensors" --quiet >/dev/null
  "$ckpt" doctor $name-cut | grep -A4 '^W13'
  "$ckpt" doctor $name-cut --for vllm | sed -n 's/^    fix: \(ckpt .*graft.*\)/\1/p' | sed "s/BASE/$name/" > line
  sh -c "\"$ckpt\" $(sed 's/^ckpt //' line) --quiet" >/dev/null
  "$ckpt" doctor $name-cut-fixed | grep -c '^W13'
done
echo "== a statement of quantization for plain weights; a tensor too many"
cp -r base stale
python3 - << 'P'
import json
config = json.load(open("stale/config.json"))
config["quantization_config"] = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
json.dump(config, open("stale/config.json", "w"))
P
followed "$(fix stale vllm Q22)"
"$ckpt" doctor stale-fixed --for vllm | grep -c '^Q22'
true
