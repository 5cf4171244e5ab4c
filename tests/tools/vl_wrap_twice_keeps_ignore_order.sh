# wrapped, unwrapped, wrapped again: a list of unquantized modules that is not sorted has the same order both times
"$ckpt" convert -q "$testdata/qwen35-micro" modelopt --to nvfp4-w4a16 >/dev/null
"$ckpt" convert -q modelopt in --step nvfp4-layout:to=compressed-tensors >/dev/null
python3 - <<'EOF'
import json
config = json.load(open("in/config.json"))
config["quantization_config"]["ignore"].reverse()
json.dump(config, open("in/config.json", "w"))
EOF
"$ckpt" convert -q in first --step vl-wrap >/dev/null
"$ckpt" convert -q first text --step vl-unwrap >/dev/null
"$ckpt" convert -q text second --step vl-wrap >/dev/null
cat > last.py <<'EOF'
import json, sys
print(json.load(open(sys.argv[1]))["quantization_config"]["ignore"][-3:])
EOF
for folder in first text second; do python3 last.py $folder/config.json; done
