# code files next to the weights, which trust_remote_code would run, are neither run nor copied
cp -r "$testdata/llama-micro" in
for name in modeling_x configuration_x tokenization_x; do
  echo "open('$PWD/was-run', 'w')" > in/$name.py
done
python3 - <<'EOF'
import json
config = json.load(open("in/config.json"))
config["auto_map"] = {"AutoConfig": "configuration_x.XConfig", "AutoModelForCausalLM": "modeling_x.X"}
json.dump(config, open("in/config.json", "w"))
EOF
"$ckpt" convert -q in out --to f16 >/dev/null
"$ckpt" convert -q in out.gguf >/dev/null
"$ckpt" doctor in --for vllm-0.17 >/dev/null 2>&1
ls out
ls in/*.py
[ -e was-run ] && echo "it was run" || echo "it was not run"
