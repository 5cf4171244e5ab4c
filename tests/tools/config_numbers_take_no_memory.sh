# A number of config.json is counted against what is there before anything is made of it: no command takes 100 MB, whatever layers,
# experts or blocks a few bytes claim. Left out is vocab_size: a vocabulary is filled up to it before the embedding is looked at.
python3 - "$ckpt" "$testdata/families" <<'PY'
import json, os, pathlib, resource, shutil, subprocess, sys
ckpt, families = sys.argv[1], pathlib.Path(sys.argv[2])
commands = [["convert", "m", "o.gguf", "--dry-run", "-q"], ["convert", "m", "o", "--to", "nvfp4-w4a16", "--dry-run", "-q"],
            ["doctor", "m", "-q"], ["show", "m"], ["diff", "m", "n"], ["patch", "m", "--step", "serving-config", "--dry-run", "-q"]]
more = ["num_nextn_predict_layers", "mtp_num_hidden_layers", "num_experts", "n_routed_experts", "num_local_experts",
        "full_attention_interval", "decoder_sparse_step", "num_kv_shared_layers", "first_k_dense_replace"]
def numbers(config, at=()):
    for key, value in config.items():
        if isinstance(value, dict): yield from numbers(value, at + (key,))
        elif isinstance(value, int) and not isinstance(value, bool): yield at + (key,)
limits = lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
tried = 0
for family in ["deepseek-v3", "qwen3-vl", "gemma4", "granite4-h"]:
    for name in "mn":
        shutil.rmtree(name, ignore_errors=True)
        shutil.copytree(families / family / "hf", name)
    config = json.loads(pathlib.Path("n/config.json").read_text())
    places = set(numbers(config)) | {(key,) for key in more} | ({("text_config", key) for key in more} if "text_config" in config else set())
    for place in sorted(places):
        if place[-1] == "vocab_size": continue
        for value in (10**6, 10**7, 2**31):
            changed = json.loads(json.dumps(config))
            inner = changed
            for key in place[:-1]: inner = inner[key]
            inner[place[-1]] = value
            pathlib.Path("m/config.json").write_text(json.dumps(changed))
            for command in commands[tried % 2::2]:
                process = subprocess.Popen([ckpt, *command, "-j1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limits)
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = 0
                if used.ru_maxrss > 100_000 or os.waitstatus_to_exitcode(status) not in (0, 1, 2):
                    print(family, ".".join(place), value, *command, f"{used.ru_maxrss // 1000} MB", status)
            tried += 1
print("numbers were tried" if tried > 200 else tried)
PY
