# provenance.json has the digest of every file that a recipe's presets are read from: their own, and those of their imports.
umask 022
mkdir -p work/modelopt_recipes/own && cp -r "$testdata/qwen35moe-micro" m
good="$testdata/export/recipes/experts_nvfp4-attention_fp8_blocks.yaml"
sed 's#configs/numerics/nvfp4#own/nvfp4#' "$good" > work/r.yaml
printf '%s\nnum_bits: e2m1\nblock_sizes: {-1: 16, type: dynamic, scale_bits: e4m3}\n' \
  '# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig' > work/modelopt_recipes/own/nvfp4.yaml
echo '{"in": "../m", "out": "../out", "to": "nvfp4", /* by hand */ "preset": "r.yaml"}' > work/flag.json
echo '{"in": "../m", "out": "../out", "steps": [{"name": "export", "type": "nvfp4", "preset": "r.yaml"}]}' > work/step.json
echo '{"in": "../m", "out": "../out", "to": "nvfp4", "preset": "mlp-only"}' > work/word.json
inputs() { python3 -c 'import json; [print(d["name"], d["digest"]["sha256"][:8]) for d in json.load(open("m/provenance.json"))["predicate"]["buildDefinition"]["resolvedDependencies"]]'; }
for recipe in flag step word; do echo "-- $recipe"; "$ckpt" publish m --recipe work/$recipe.json -q > /dev/null; echo $?; inputs; done
sha256sum work/r.yaml work/modelopt_recipes/own/nvfp4.yaml | cut -c1-8
echo "-- an import that is not there"
cp m/provenance.json before && mv work/modelopt_recipes elsewhere
"$ckpt" publish m --recipe work/flag.json -q 2>&1; echo $?; cmp before m/provenance.json && echo "nothing was written"
