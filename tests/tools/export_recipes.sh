# Recipes of ModelOpt by name and from files: what each one that ships does here, what imports are, and that each key is used or
# refused.
model="$testdata/qwen35moe-micro"
try() { "$ckpt" convert "$model" out --to "${to:-nvfp4}" --preset "$@" --dry-run --quiet 2>&1 | sed "s#$testdata#TESTDATA#g" | grep -E '^ckpt:' | cut -c1-400 || true; }
names="fp8_default-kv_fp8 fp8_default-kv_fp8_cast int4_blockwise_weight_only mxfp4_mlp_weight_only nvfp4_act_headroom-kv_fp8_cast
nvfp4_default-kv_fp8 nvfp4_default-kv_fp8_cast nvfp4_default-kv_none-gptq nvfp4_default-kv_nvfp4_cast nvfp4_experts_only-kv_fp8
nvfp4_experts_only-kv_fp8_cast nvfp4_experts_only-kv_fp8_layerwise nvfp4_experts_only-kv_fp8_layerwise_offload
nvfp4_experts_only_input_scale1-kv_fp8_cast nvfp4_experts_only_mse-kv_fp8_cast nvfp4_mlp_only-kv_fp8 nvfp4_mlp_only-kv_fp8_cast
nvfp4_mlp_only-novit-kv_fp8 nvfp4_mlp_only_mse-kv_fp8_cast nvfp4_mlp_weight_only nvfp4_omlp_only-kv_fp8 nvfp4_omlp_only-kv_fp8_cast
nvfp4_weight_only-kv_fp16 nvfp4_weight_only-kv_fp8_cast w4a16_nvfp4-fp8_attn-kv_fp8_cast nvfp4_experts-fp8_pb_attention"
for name in $names; do
  to=nvfp4; case $name in fp8_*|nvfp4_experts-fp8*) to=fp8;; esac
  echo "== $name"; try "$name"
done
to=nvfp4
echo "== names that are not quite one, options with a recipe"
try nvfp4_weight_only-kv_fp1
try nvfp4_weight_only-kv_fp16.yaml
try nvfp4_weight_only
try general/ptq/nvfp4_weight_only-kv_fp16
try weight-only --rest fp8
try nvfp4_experts_only_input_scale1-kv_fp8_cast --keep '*'
try default-input-scale1 --only '*mlp*' --keep '*mlp*'
try nvfp4_weight_only-kv_fp16 --fp8 '*o_proj*'
try nvfp4_weight_only-kv_fp16 --target-bits 6
"$ckpt" convert "$model" out --preset nvfp4_weight_only-kv_fp16 --dry-run 2>&1
"$ckpt" convert "$model" out --preset default-input-scale1 --to nvfp4 --keep '*o_proj*' --fp8 '*o_proj*' --dry-run 2>&1 | grep 'fp8='
echo "== a file, its imports from the program"
good="$testdata/export/recipes/experts_nvfp4-attention_fp8_blocks.yaml"
try "$good"
cp "$good" good.yml; try good.yml
echo one > value.yaml; try value.yaml
echo "== lists that import lists ten times each are not followed to their end"
schema='# modelopt-schema: modelopt.torch.quantization.config.QuantizerCfgListConfig'
for i in 0 1 2 3 4 5 6 7 8; do
  { echo "$schema"; echo "imports: {next: wide$((i + 1))}"; echo ---; for j in 1 2 3 4 5 6 7 8 9 10; do echo '- $import: next'; done; } > wide$i.yaml
done
{ echo "$schema"; echo '- {quantizer_name: "*k_proj*", enable: false}'; } > wide9.yaml
sed 's#configs/ptq/units/default_disabled_quantizers#wide0#' "$good" > wide.yaml; try wide.yaml
rm wide*.yaml
echo "== its imports next to it"
lib=modelopt_recipes
mkdir -p $lib/general $lib/own
sed 's#configs/numerics/nvfp4#own/nvfp4#' "$good" > $lib/general/r.yaml
printf '# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig\nnum_bits: 4\n' > $lib/own/nvfp4.yaml
try $lib/general/r.yaml | sed "s#$PWD#PWD#"
printf 'num_bits: e2m1\n' > $lib/own/nvfp4.yaml
try $lib/general/r.yaml
echo "== a recipe that is too large is not reported as missing"
truncate -s 1000001 $lib/own/nvfp4.yaml
try $lib/general/r.yaml | sed "s#$PWD#PWD#g"
rm -r $lib
echo "== one thing changed at a time"
change() { echo "-- $1"; sed "$1" "$good" > changed.yaml; cmp -s "$good" changed.yaml && echo "NOT CHANGED"; try changed.yaml; }
change 's/recipe_type: ptq/recipe_type: auto_quantize/'
change 's/recipe_type: ptq/recipe_type: ptq\n  owner: me/'
change 's/method: max/method: mse/'
change 's/method: max/method: awq_lite/'
change 's/method: max/method: max\n    moe_calib_experts_ratio: 0.5/'
change 's/skip_forward_without_activation_calib: true/skip_forward_without_activation_calib: maybe/'
change 's/  quant_cfg:/  effective_bits: 4\n  quant_cfg:/'
change 's/constant_amax: 2688.0/constant_amax: -1.0/'
change 's/constant_amax: 2688.0/constant_amax: "2688.0"/'
change 's/constant_amax: 2688.0/constant_amax: 2688.0, constant_amax: 1.0/'
change 's/constant_amax: 2688.0/use_constant_amax: true/'
change 's/constant_amax: 2688.0/rotate: true/'
change 's/constant_amax: 2688.0/axis: 0/'
change 's/constant_amax: 2688.0/num_bits: 4/'
change 's/constant_amax: 2688.0/block_sizes: {-1: 32, type: dynamic, scale_bits: e4m3}/'
change 's/constant_amax: 2688.0/block_sizes: {-1: 16, type: static, scale_bits: e4m3}/'
change 's/-2: 128/-2: 64/'
change 's/- $import: base_disable_all/- {quantizer_name: "*", enable: true}/'
change 's/- $import: default_disabled_quantizers/- {quantizer_name: "*k_proj*", enable: false}/'
change 's/- $import: default_disabled_quantizers/- {quantizer_name: "*o_proj.output_quantizer", cfg: {$import: fp8}}/'
change 's/- $import: default_disabled_quantizers/- {quantizer_name: "*q_bmm_quantizer", cfg: {$import: fp8}}/'
change 's/- $import: default_disabled_quantizers/- {parent_class: nn.Linear, quantizer_name: "*", enable: false}/'
change 's/- $import: default_disabled_quantizers/- {quantizer_name: "*embed_tokens*weight_quantizer", cfg: {$import: nvfp4}}/'
change 's/- $import: default_disabled_quantizers/- {quantizer_name: "*lm_head*", enable: true}/'
change 's/- $import: default_disabled_quantizers/- {quantizer_name: "*experts.0.*", enable: false}/'
change 's/- $import: default_disabled_quantizers/- $import: nvfp4/'
change 's/- $import: default_disabled_quantizers/- $import: unknown/'
change 's#configs/numerics/fp8#configs/numerics/fp9#'
change 's#configs/numerics/fp8#../fp8#'
change 's/metadata:/metadata: !!map/'
change 's/^quantize:/quantise:/'
echo "== other types"
to=fp8 try nvfp4_weight_only-kv_fp16
to=nvfp4-w4a16 try nvfp4_weight_only-kv_fp16
to=nvfp4-w4a16 try nvfp4_experts_only_input_scale1-kv_fp8_cast
try nothing.yaml
echo "== --fp8 leaves alone what ModelOpt does, unless its name is spelled out"
for glob in '*' lm_head '*lm_head*'; do
  "$ckpt" convert "$testdata/qwen3-micro" fp8 --to nvfp4 --preset default-input-scale1 --only '*.o_proj' --fp8 "$glob" 2>&1 >&- | grep note
  "$ckpt" show fp8 | sed -n '/FP8: \|NVFP4 (/p' | cut -c1-160; rm -rf fp8
done
echo "== a head that the class ties without a word is listed, as ModelOpt does"
for family in cohere ernie45; do
  "$ckpt" convert "$testdata/families/$family/hf" tied --to nvfp4-w4a16 --quiet > sums
  tr -d ' \n' < tied/hf_quant_config.json | grep -o '"exclude_modules.*'; rm -rf tied
done
