"""llama_model_quantize of a prebuilt llama.cpp v0.5.0, to Q4_K_M.

usage: llama_cpp_quantize.py LIB_DIR IN.gguf OUT.gguf THREADS
"""
import ctypes
import pathlib
import sys

lib_dir, source, target, threads = pathlib.Path(sys.argv[1]), *sys.argv[2:5]


class Parameters(ctypes.Structure):
    """Only the first two fields are ours to know: threads and file type."""
    _fields_ = [("threads", ctypes.c_int32), ("file_type", ctypes.c_int32), ("rest", ctypes.c_uint8 * 1016)]


for pattern in ("libggml-base.so*", "libggml.*so*"):
    library = ctypes.CDLL(str(sorted(lib_dir.glob(pattern))[0]), mode=ctypes.RTLD_GLOBAL)
library.ggml_backend_load_all_from_path(str(lib_dir).encode())
llama = ctypes.CDLL(str(sorted(lib_dir.glob("libllama.*so*"))[0]))
llama.llama_backend_init()
llama.llama_model_quantize_default_params.restype = Parameters
parameters = llama.llama_model_quantize_default_params()
parameters.threads, parameters.file_type = int(threads), 15
sys.exit(llama.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(parameters)))
