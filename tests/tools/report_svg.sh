# One plot as an SVG: well formed, with a square for each role and layer, a point for each that was compared; hostile names are text.
"$ckpt" convert "$testdata/qwen35-micro" q4_0.gguf --to q4_0 --quiet > /dev/null || exit 9
"$ckpt" report q4_0.gguf --svg layers --quiet; echo "exit $?"
"$ckpt" report q4_0.gguf --against "$testdata/qwen35-micro" --svg layers -o sqnr.svg --quiet
"$ckpt" report q4_0.gguf --against "$testdata/qwen35-micro" --svg error --quiet
"$ckpt" report q4_0.gguf --svg bytes --quiet
"$ckpt" report q4_0.gguf --against "$testdata/qwen35-micro" --json > data.json
python3 - <<'END'
import json, struct
import xml.etree.ElementTree as tree
S = "{http://www.w3.org/2000/svg}"
one = json.loads(open("data.json").readline())["checkpoints"][0]
cells = one["cells"]
places = {(r, l) for r, l in zip(cells["role"], cells["layer"])}
for name in ("layers.svg", "sqnr.svg"):
    root = tree.parse(name).getroot()
    squares = [r for r in root.iter(S + "rect") if r.get("width") == "18"]
    texts = [t.text for t in root.iter(S + "text")]
    print(name, len(squares) == len(places), all(role in texts for role in one["roles"]), len({s.get("fill") for s in squares}) > 1)
root = tree.parse("error.svg").getroot()
print("error.svg", len(list(root.iter(S + "circle"))) == sum(v is not None for v in cells["sqnr_db"]))
root = tree.parse("bytes.svg").getroot()
areas = {g.find(S + "title").text: g.find(S + "rect") for g in root.iter(S + "g")}
sizes = {}
for role, type_, size in zip(cells["role"], cells["type"], cells["size_bytes"]):
    key = one["roles"][role] + ", " + one["types"][type_]["type"]
    sizes[key] = sizes.get(key, 0) + size
drawn = {title.split(":")[0]: (float(r.get("width")) + 1) * (float(r.get("height")) + 1) for title, r in areas.items()}
whole = 868 * 444 / sum(sizes.values())
print("bytes.svg", len(drawn) >= 10, all(abs(area - sizes[key] * whole) <= 150 for key, area in drawn.items()))
def safetensors(path, names):
    header = {n: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, n in enumerate(names)}
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + bytes(4 * len(names)))
safetensors("hostile.safetensors", ["<script>alert(1)</script>&amp;", "a-->b", "\u202ex\u0007", "w" * 400])
safetensors("layers.safetensors", ["model.layers.900000000000000000.a"])
END
"$ckpt" report hostile.safetensors --svg layers -o hostile.svg --quiet && python3 -c "
import xml.etree.ElementTree as tree
root = tree.parse('hostile.svg').getroot()
print({e.tag.split('}')[1] for e in root.iter() if isinstance(e.tag, str)} == {'svg', 'rect', 'text'}, max(len(t.text) for t in root.iter('{http://www.w3.org/2000/svg}text')))"
"$ckpt" report hostile.safetensors --svg bytes -o hostile_bytes.svg --quiet && python3 -c "
import xml.etree.ElementTree as tree
root = tree.parse('hostile_bytes.svg').getroot()
print({e.tag.split('}')[1] for e in root.iter() if isinstance(e.tag, str)} == {'svg', 'g', 'title', 'rect', 'text'})"
echo "--- refused"
tried() { "$ckpt" report "$@" 2>&1; }
tried layers.safetensors --svg layers -o x.svg
tried q4_0.gguf --svg error
tried q4_0.gguf q4_0.gguf --svg layers
tried q4_0.gguf --svg treemap
tried q4_0.gguf --svg layers
tried q4_0.gguf --svg layers --json
tried q4_0.gguf --svg bytes --against q4_0.gguf -o y.svg
tried q4_0.gguf --svg layers --eval data.json -o y.svg
tried q4_0.gguf --svg layers --force --quiet
for words in "--svg bytes -o x.html" "-o x.svg"; do "$ckpt" report "$testdata/qwen3-micro" $words 2>&1; done; ls x.* 2>/dev/null || echo "nothing was written"
