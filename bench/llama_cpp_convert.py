"""llama.cpp's convert_hf_to_gguf.py, to BF16, on a model whose vocabulary it does not know: it gets
the pre-tokenizer's name that it would have looked up by a hash.

usage: llama_cpp_convert.py TREE HF_DIR OUT.gguf [PRE]
"""
import runpy
import sys

tree, folder, out = sys.argv[1:4]
pre = sys.argv[4] if len(sys.argv) > 4 else "qwen35"
sys.path[:0] = [tree, tree + "/gguf-py"]
import conversion.base as base  # noqa: E402  (found through the path above)

for name in dir(base):
    if hasattr(getattr(base, name), "get_vocab_base_pre"):
        setattr(getattr(base, name), "get_vocab_base_pre", lambda self, tokenizer: pre)
sys.argv = [tree + "/convert_hf_to_gguf.py", folder, "--outtype", "bf16", "--outfile", out, "--no-mtp"]
runpy.run_path(sys.argv[0], run_name="__main__")
