#!/usr/bin/env python3
"""A real llama.cpp loads what we make of each family, as Q4_K_M, and computes finite logits from it.

usage: llama_cpp_families.py LIB_DIR CKPT TESTDATA

Each file is loaded in a process of its own: llama.cpp aborts where a model does not fit what it expects.
NOT_TAKEN names checkpoints that are too small for it, and what it says of them; our files equal the converter's there.
"""
import array
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from llama_cpp_library import logits

NOT_TAKEN = {
    "ultravox": "only its projector is converted",
    "deepseek-v32": "GGML_ASSERT(ggml_can_mul_mat(a, b)): heads of the indexer that are too small",
    "dots1": "'blk.0.attn_k.weight' has wrong shape: it expects as many heads of keys as of queries",
    "ling2": "'blk.0.attn_qkv.weight' has wrong shape: heads that are together wider than the model",
    "mistral4": "GGML_ASSERT(*cur_backend_id != -1): heads that are too small",
    "youtu": "the same",
    "bert": "an encoder gives embeddings, and no logits",
    "embeddinggemma": "the same; and it aborts, because no layer of the test model has full attention",
    "eurobert": "heads that are together wider than the model",
    "jina-bert-v2": "as bert",
    "mamba2": "'token_embd.weight' has wrong shape: the vocabulary is filled up to a multiple of 16, the embedding is not",
    "minicpm-v46": "the file counts a layer for multi-token prediction that it lacks, as the converter's does",
    "modernbert": "as bert",
    "nomic-bert": "as bert",
    "xlm-roberta": "as bert",
    "cohere": "wrong number of tensors; expected 22, got 18: norms of q and k are read from 64 layers on",
    "ernie45-moe": "'blk.1.ffn_gate_shexp.weight' has wrong shape: two shared experts are read as one",
    "exaone35": "no exaone.attention.layer_norm_rms_epsilon: the converter writes layer_norm_epsilon",
    "gemma3n": "'per_layer_token_embd.weight' has wrong shape: the loader fixes widths that the test model lacks",
    "gemma3n-vl": "the same",
    "exaone4": "'blk.0.attn_output.weight' has wrong shape: heads that are together wider than the model",
    "deepseek-v4": "GGML_ASSERT(ggml_nelements(a) == ne0*ne1): heads of the indexer that are too small",
    "glm5-next": "unknown model architecture: it came after v0.5.0",
    "gemma4": "GGML_ASSERT(map_layer_ids.find(il_reuse) != ...): the only layer with full attention shares another's cache",
    "gemma4-vl": "the same",
    "glm-moe-dsa": "'blk.1.ffn_gate.weight' not found: three dense layers where the configuration names none",
    "granite4": "'blk.0.ffn_gate.weight' has wrong shape: shared_intermediate_size is not intermediate_size",
    "granite4-h": "'token_embd.weight' has wrong shape: the vocabulary is filled up to a multiple of 8, the embedding is not",
    "llama4": "GGML_ASSERT(buf != NULL)",
    "nemotron-h": "as granite4-h",
    "qwen3-vl": "GGML_ASSERT(ggml_can_repeat(b, a))",
    "qwen3-vl-moe": "the same",
}
AS_BF16 = {  # not as Q4_K_M
    "gpt-oss-mxfp4", "kimi-k3",  # their experts stay MXFP4
    "kimi-linear",  # GGML_ASSERT(cur_backend_id != -1) with quantized weights of the test model
    "ling3",  # the same
}


def computes(path):
    """Whether the library takes the file and computes numbers."""
    child = os.fork()
    if child == 0:
        values = array.array("f", logits(path) or b"")
        os._exit(0 if any(values) and all(map(math.isfinite, values)) else 1)
    return os.waitpid(child, 0)[1] == 0


def main(ckpt, testdata):
    failed = taken = 0
    for family in sorted((pathlib.Path(testdata) / "families").iterdir()):
        if family.name in NOT_TAKEN:
            continue
        pre = family / "PRE"
        options = ["--tokenizer-pre", pre.read_text().strip()] if pre.exists() else []
        kind = "bf16" if family.name in AS_BF16 else "q4_k_m"
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/model.gguf"
            subprocess.run([ckpt, "convert", "-q", family / "hf", out, "--to", kind, *options], check=True,
                           stdout=subprocess.DEVNULL)
            good = computes(out)
            print(f"{family.name} {kind}: {'taken' if good else 'REFUSED, OR NO NUMBERS'}", flush=True)
            taken, failed = taken + good, failed + (not good)
    assert taken > 0, "no file was taken"
    return failed != 0


sys.exit(main(*sys.argv[2:]))
