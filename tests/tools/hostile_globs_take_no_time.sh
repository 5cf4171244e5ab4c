# Names and globs that were chosen to make matching slow: stars without end, sets that nearly fit, a name of two thousand
# numbers; a name of 400,000 bytes is refused. Each takes a second or two; trying everything takes minutes and gigabytes.
cat > check.py <<'PYTHON'
import json, os, resource, struct, subprocess, sys
ckpt = sys.argv[1]

def safetensors(path, names):
    text = json.dumps({name: {"dtype": "BF16", "shape": [1, 0], "data_offsets": [0, 0]} for name in names}).encode()
    with open(path, "wb") as out: out.write(struct.pack("<Q", len(text)) + text)

os.makedirs("globs")
safetensors("globs/model.safetensors", ["a." * 1900 + f"{i}.weight" for i in range(500)])
ignored = ["*" + "a*" * 1900 + "b*"] * 100 + ["*" + "a." * i + "b*" for i in range(200)] + ["a." * 900 + "[ab]" * 900 + "*"] * 100 + ["a" * i for i in range(2, 400)]
config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ignored}}
with open("globs/config.json", "w") as out: json.dump(config, out)
safetensors("numbers.safetensors", ["0." * 2000 + f"{i}.weight" for i in range(100)])
safetensors("long.safetensors", ["x" * 400_000])

def limit(): resource.setrlimit(resource.RLIMIT_CPU, (60, 60)), resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))

for line in ("show globs", "show globs --tensors=" + "*a" * 1800 + "*b*", "doctor globs", "patch globs --step serving-config --dry-run",
             "show numbers.safetensors", "doctor numbers.safetensors"):
    done = subprocess.run([ckpt, *line.split()], stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=limit)
    assert done.returncode in ((2,) if "--tensors" in line else (0, 1)), (line[:60], done.returncode, done.stderr[-300:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
assert used.ru_maxrss < 2 << 20, used.ru_maxrss   # 2 GiB
for verb in ("show", "doctor"):
    done = subprocess.run([ckpt, verb, "long.safetensors"], capture_output=True, text=True)
    print(done.returncode, done.stdout + done.stderr, end="")
PYTHON
python3 check.py "$ckpt" | grep -c 'a name of 400000 bytes; expected at most 4096'
