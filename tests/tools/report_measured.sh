# Measurements of other programs, in a report and by the doctor: an importance matrix by expert, figures of an evaluation.
m=$testdata/qwen35moe-micro
"$ckpt" convert "$m" bf16.gguf --quiet > /dev/null || exit 9
"$ckpt" show bf16.gguf --tensors --json > tensors.jsonl
cat > made.py <<'PYTHON'
import json, struct
def text(value):
    return struct.pack("<Q", len(value)) + value.encode()
def write(path, entries):
    keys = [text("general.type") + struct.pack("<I", 8) + text("imatrix"), text("imatrix.datasets") + struct.pack("<IIQ", 9, 8, 1) + text("prose.txt"),
            text("imatrix.chunk_count") + struct.pack("<II", 4, 3), text("imatrix.chunk_size") + struct.pack("<II", 4, 512)]
    infos, data = b"", b""
    for name, (columns, counts) in sorted(entries.items()):
        for suffix, values, width in ((".in_sum2", [2.0] * (columns * len(counts)), columns), (".counts", counts, 1)):
            infos += text(name + suffix) + struct.pack("<IQQIQ", 2, width, len(counts), 0, len(data))
            data += struct.pack(f"<{len(values)}f", *values)
            data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2 * len(entries), 4) + b"".join(keys) + infos
    open(path, "wb").write(head + bytes(-len(head) % 32) + data)
entries = {}
for line in open("tensors.jsonl"):
    one = json.loads(line)
    name, shape = one.get("name", ""), one.get("shape", ())
    if name.startswith("blk.") and name.endswith(".weight") and len(shape) >= 2 and "conv1d" not in name:
        entries[name] = (shape[-1], [1536] if len(shape) == 2 else [100 * i for i in range(shape[0])])
write("whole.gguf", entries)
down = "blk.0.ffn_down_exps.weight"
write("part.gguf", {**{n: e for n, e in entries.items() if "attn" not in n}, "blk.99.ffn_up.weight": (8, [4])})
write("sizes.gguf", {**entries, down: (entries[down][0] // 2, entries[down][1])})
write("other.gguf", {"model.layers.0.mlp.up_proj.weight": (8, [4])})
PYTHON
python3 made.py
"$ckpt" imatrix merge whole.gguf -o whole.dat --quiet > /dev/null
echo "--- doctor"
for each in whole.gguf part.gguf sizes.gguf other.gguf whole.dat; do
  "$ckpt" doctor bf16.gguf --for llama.cpp --imatrix $each 2>&1 | grep -A9 "^$each"
  "$ckpt" doctor bf16.gguf --for llama.cpp --imatrix $each --quiet > /dev/null 2>&1; echo "exit $?"
done
"$ckpt" doctor "$m" --for llama.cpp --imatrix whole.gguf 2>&1 | grep -A9 "^whole"
"$ckpt" doctor bf16.gguf --for llama.cpp --imatrix part.gguf --json | grep '"statistics"'
"$ckpt" doctor bf16.gguf --imatrix tensors.jsonl 2>&1 | tail -1
echo "--- report"
printf 'QTYPE,group0\nbf16,0\nq4_K,0.047219\niq1_s,NaN\n' > kld_results.csv
printf 'QTYPE,blk.0.attn_k.weight,blk.0.attn_q.weight\niq1_s,9.5,9.25\nq4_K,,9.0\n' > ppl_results.csv
echo '{"rows": [{"name": "bf16", "kl": 0.0, "perplexity": 9.1, "note": "whole wiki"}]}' > kl.json
printf 'name,kl\nbf16,0.5\n' > named.csv
cat > look.py <<'PYTHON'
import json, sys
one = json.loads(open(sys.argv[1]).read().splitlines()[0])["checkpoints"][0]
imatrix = one["imatrix"]
if imatrix:
    stacks = [e for e in imatrix["entries"] if len(e["experts"]) > 1]
    print(imatrix["kind"], imatrix["chunks"], imatrix["datasets"], len(imatrix["entries"]), len(stacks), len(imatrix["missing"]), imatrix["unknown"])
    for e in stacks[:1]:
        print(one["roles"][e["role"]], e["layer"], e["experts"][:3])
print(json.dumps(one["evaluation"]))
PYTHON
for each in "bf16.gguf --imatrix whole.gguf --eval kld_results.csv" "$m --imatrix part.gguf --eval ppl_results.csv" \
  "bf16.gguf --imatrix whole.dat --eval kl.json" "bf16.gguf --eval named.csv"; do
  "$ckpt" report $each --json > data.json; echo "exit $?"; python3 look.py data.json
done
echo "--- refused"
tried() { "$ckpt" report bf16.gguf "$@" --json 2>&1 > /dev/null; }
tried --imatrix other.gguf
tried --imatrix sizes.gguf
tried --eval nothing.csv
tried --eval made.py
tried --eval bf16.gguf
for each in '{"rows": 3}' '[{"kl": 1}]' '[{"name": "a", "kl": [1]}]' '[{"name": "a", "kl": 1e999}]' 'QTYPE' 'name,kl
a' 'name,kl
"a",1' 'name,kl,kl
a,1,2' '{"rows": ['; do
  printf '%s\n' "$each" > eval; tried --eval eval
done
exit 0
