# Fields that transformers 5 saves under names that 4.57 does not read, and convolutions that vLLM never
# runs quantized: vLLM 0.17 refuses such folders, and takes what --fix makes of them.
families="$testdata/families"
for name in gemma2 gemma3 gemma3-vl qwen3-moe qwen3-vl-moe; do
  echo "--- $name"
  "$ckpt" doctor "$families/$name/hf" --for vllm-0.17 --json > found.json; echo "exit $?"
  python3 - << 'END'
import json
for line in open("found.json"):
    one = json.loads(line)
    if one["type"] == "check" and one["severity"] == "unloaded":
        print(one["check"], one["place"], one["found"])
END
  "$ckpt" convert "$families/$name/hf" "$name" --for vllm-0.17 --quiet > sums; echo "exit $?"
  "$ckpt" doctor "$name" --for vllm-0.17 --for transformers-5 | head -1
done
echo "--- fields"
python3 - << 'END'
import json
for name in ("gemma2", "gemma3", "qwen3-moe"):
    config = json.load(open(f"{name}/config.json"))
    fields = ("hidden_act", "rope_theta", "rope_local_base_freq", "rope_scaling", "rope_parameters", "num_experts", "num_local_experts")
    print(name, {key: config[key] for key in fields if key in config})
END
echo "--- one base for both kinds of layers, and two"
cp -r "$families/olmo2/hf" one && cp -r "$families/olmo2/hf" two
python3 - << 'END'
import json
for name, local in (("one", 500000.0), ("two", 10000.0)):
    config = json.load(open(f"{name}/config.json"))
    config["model_type"], config["architectures"] = "olmo3", ["Olmo3ForCausalLM"]
    config.pop("rope_theta", None), config.pop("rope_scaling", None)
    config["rope_parameters"] = {"full_attention": {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 256, "rope_theta": 500000.0},
                                 "sliding_attention": {"rope_type": "default", "rope_theta": local}}
    json.dump(config, open(f"{name}/config.json", "w"), indent=2)
END
for name in one two; do
  "$ckpt" doctor "$name" --for vllm-0.17 | grep -A3 '^C35'
  "$ckpt" patch "$name" --out "$name-fixed" --step serving-config --quiet > sums
  grep -E 'rope_theta|rope_parameters|rope_scaling' "$name-fixed/config.json"
done
echo "--- convolutions"
"$ckpt" convert "$families/lfm2/hf" lfm2 --to nvfp4-w4a16 --quiet > sums
"$ckpt" doctor lfm2 --for vllm-0.17 | grep -A3 '^Q14'
"$ckpt" doctor lfm2 --for vllm | grep -c '^Q14'
"$ckpt" convert "$families/lfm2/hf" kept --to nvfp4-w4a16 --keep '*.conv.*' --quiet > sums
"$ckpt" doctor kept --for vllm-0.17 | grep -c '^Q14'
exit 0
