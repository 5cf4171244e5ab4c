"""llama.cpp's library, from the folder that is the first argument, for the other scripts of this folder."""
import ctypes as c
import pathlib
import sys

lib_dir = pathlib.Path(sys.argv[1])


class Blob(c.Structure):
    """A parameter struct of which only the library knows the fields: passed on as it came."""
    _fields_ = [("bytes", c.c_uint8 * 1024)]


def load(pattern):
    return c.CDLL(str(sorted(lib_dir.glob(pattern))[0]), mode=c.RTLD_GLOBAL)


base, ggml, llama = load("libggml-base.so*"), load("libggml.*so*"), load("libllama.*so*")
ggml.ggml_backend_load_all_from_path(str(lib_dir).encode())
silent = c.CFUNCTYPE(None, c.c_int, c.c_char_p, c.c_void_p)(lambda level, text, data: None)
llama.llama_log_set(silent, None)
llama.llama_backend_init()
for name in ("model_default_params", "context_default_params", "model_quantize_default_params"):
    getattr(llama, f"llama_{name}").restype = Blob
for name, arguments in (("model_load_from_file", [c.c_char_p, Blob]), ("init_from_model", [c.c_void_p, Blob]),
                        ("model_get_vocab", [c.c_void_p])):
    function = getattr(llama, f"llama_{name}")
    function.restype, function.argtypes = c.c_void_p, arguments
llama.llama_vocab_n_tokens.argtypes = [c.c_void_p]
llama.llama_batch_get_one.restype, llama.llama_batch_get_one.argtypes = Blob, [c.c_void_p, c.c_int32]
llama.llama_decode.argtypes = [c.c_void_p, Blob]
llama.llama_get_logits.restype, llama.llama_get_logits.argtypes = c.POINTER(c.c_float), [c.c_void_p]
llama.llama_set_n_threads.argtypes = [c.c_void_p, c.c_int32, c.c_int32]
llama.llama_encode.argtypes = [c.c_void_p, Blob]
llama.llama_model_has_encoder.restype, llama.llama_model_has_encoder.argtypes = c.c_bool, [c.c_void_p]
llama.llama_model_decoder_start_token.argtypes = [c.c_void_p]
llama.llama_pooling_type.argtypes = [c.c_void_p]
llama.llama_set_embeddings.argtypes = [c.c_void_p, c.c_bool]
llama.llama_get_embeddings_seq.restype, llama.llama_get_embeddings_seq.argtypes = c.POINTER(c.c_float), [c.c_void_p, c.c_int32]
llama.llama_model_n_embd.argtypes = [c.c_void_p]
llama.llama_free.argtypes = llama.llama_model_free.argtypes = [c.c_void_p]


def logits(path, run=range(40, 56)):
    """The logits after a run of tokens, or its embedding where the file says how to pool, as bytes; None when it is refused."""
    model = llama.llama_model_load_from_file(str(path).encode(), llama.llama_model_default_params())
    if not model:
        return None
    context = llama.llama_init_from_model(model, llama.llama_context_default_params())
    if not context:
        return None
    llama.llama_set_n_threads(context, 1, 1)  # threads that wait for each other take longer on busy cores
    is_pooled = llama.llama_pooling_type(context) > 0
    llama.llama_set_embeddings(context, is_pooled)
    if llama.llama_model_has_encoder(model):   # its decoder answers to what the encoder makes of the run
        tokens = (c.c_int32 * len(run))(*run)
        if llama.llama_encode(context, llama.llama_batch_get_one(tokens, len(tokens))) != 0:
            return None
        run = [llama.llama_model_decoder_start_token(model), *run[:3]]
    tokens = (c.c_int32 * len(run))(*run)
    if llama.llama_decode(context, llama.llama_batch_get_one(tokens, len(tokens))) != 0:
        return None
    count = llama.llama_model_n_embd(model) if is_pooled else llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    found = llama.llama_get_embeddings_seq(context, 0) if is_pooled else llama.llama_get_logits(context)
    out = bytes(c.cast(found, c.POINTER(c.c_uint8 * (4 * count))).contents)
    llama.llama_free(context)
    llama.llama_model_free(model)
    return out
