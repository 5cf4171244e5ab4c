# A recipe may be YAML, and may come from stdin; it means what the same JSON does.
cp -r "$testdata/qwen3-micro" m
cat > r.json << 'R'
{"in": "m", "out": "a.gguf", "to": "q8_0", "tensor-type": {"*.ffn_down*": "q5_0", "out:blk.0.*": "q6_k"}, "pure": false,
 "steps": [{"name": "config", "set": {"rope_theta": 1.0e6, "x.y": "no"}}], "split-tensors": "9", "for": ["llama.cpp"]}
R
cat > r.yaml << 'R'
# the same
in: m
out: a.gguf
to: q8_0
tensor-type:
  "*.ffn_down*": q5_0
  "out:blk.0.*": q6_k
pure: false
steps:
- name: config
  set: {rope_theta: 1.0e6, x.y: "no"}
split-tensors: "9"
for: [llama.cpp]
R
plan() { "$ckpt" convert "$@" --dry-run --json -q | grep '"type":"\(plan\|summary\)"' | sha256sum; }
plan --recipe r.json > json
for recipe in r.yaml -; do plan --recipe $recipe < r.yaml | cmp - json && echo "$recipe: the same plan"; done
plan --recipe - < r.json | cmp - json && echo "JSON from stdin: the same plan"
"$ckpt" convert --recipe - -o b.gguf -q < r.yaml >/dev/null 2>&1; ls
echo "== what is wrong names the line"
for text in 'in: [m' 'in: !!binary m' '<<: m' 'inn: m' 'to: {a: b}' 'pure: yes' '[m]' 'm' ''; do
  printf '%s\n' "$text" > w.yml
  "$ckpt" convert --recipe w.yml 2>&1; echo "exit $?"
done
