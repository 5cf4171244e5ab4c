# Every object that --json gives, and every field of it, is in docs/JSON.md; no field hides the object's own type.
cat > check.py <<'PYTHON'
import json, pathlib, re, subprocess, sys
ckpt, testdata = sys.argv[1], pathlib.Path(sys.argv[2])
rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in (testdata.parent / "docs/JSON.md").read_text().splitlines() if line.startswith("| `")]
LINES = """show T/qwen3-micro --tensors --metadata
show q --tensors
show q.gguf --metadata --tensors
convert T/qwen3-micro x --dry-run
convert T/qwen3-micro q --to nvfp4-w4a16
convert T/qwen3-micro q.gguf --to q8_0 --tokenizer-pre qwen2
convert T/qwen3-micro y --plan-out plan.json
convert T/qwen3-micro t.gguf --target-bits 4.6 --tokenizer-pre qwen2
convert T/qwen3-micro t --target-bits 8 --preset default-input-scale1
convert T/families/gpt-oss-mxfp4/hf g --to nvfp4 --preset default-input-scale1
convert T/families/kimi-int4/hf i --to nvfp4 --preset experts-only-input-scale1
convert T/families/kimi-int4/hf i2 --to nvfp4 --preset experts-only-input-scale1 --dry-run
execute plan.json --part 1/2
diff T/qwen3-micro q
diff T/qwen3-micro q --values --fail-if sqnr<99
patch q --step config:set=a=1 --dry-run
patch q --step config:set=a=1
set q my_key=5 model.safetensors:by=me
set q.gguf general.name=X my.key=u32:5 --dry-run
get q.gguf general.name
get q my_key
publish q --dry-run
publish q
verify q
report q.gguf
imatrix show T/formats/good/imatrix/imatrix.gguf
imatrix merge T/formats/good/imatrix/imatrix.gguf -o merged.gguf
imatrix fill T/formats/good/imatrix/imatrix.gguf -o filled.gguf
doctor q
doctor q --fix
doctor q.gguf --imatrix T/formats/good/imatrix/imatrix.gguf
doctor T/llama-micro --for vllm
list
script
completion bash
man show
man --into pages
version
convert T/qwen3-micro p --progress json
show nothing""".splitlines()
seen = set()
order = sorted(range(len(LINES)), key=lambda i: not LINES[i].startswith("convert T/qwen3-micro q"))
for line in (LINES[i] for i in order):
    words = line.replace("T/", str(testdata) + "/").split()
    done = subprocess.run([ckpt, *words, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    for text in done.stdout.splitlines():
        one = json.loads(text)
        named = [row for row in rows if f"`{one['type']}`" in row[0] and (row[1] == "any" or words[0] in row[1] or (words[0] == "execute" and "convert" in row[1]))]
        assert named, (line, one["type"])
        for key in one.keys() - {"type", "schema"}:
            assert any(f"`{key}`" in row[2] for row in named), (line, one["type"], key)
        assert list(one)[:2] == ["type", "schema"], text
        seen.add(one["type"])
missing = {name for row in rows for name in re.findall("`([^`]+)`", row[0])} - seen
assert not missing, missing
PYTHON
python3 check.py "$ckpt" "$testdata"
