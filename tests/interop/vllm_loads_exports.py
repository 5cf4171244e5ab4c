#!/usr/bin/env python3
"""vLLM takes our NVFP4 exports: configuration, quantization, model class and every weight, by name and shape.

usage: PYTHON vllm_loads_exports.py CKPT TESTDATA      PYTHON has vllm; exits 77, "peer missing", without it

No GPU is needed: the weights are loaded into the model as they would be on one, and no kernel runs. A model
whose architecture this vLLM does not know is named and left out; one at least must be known.
"""
import pathlib
import sys
import tempfile

from make_exports import convert, export, peer_missing

try:
    import vllm_on_cpu
    import torch
    import vllm
    from vllm.config import DeviceConfig, LoadConfig, ModelConfig, VllmConfig, set_current_vllm_config
    from vllm.distributed import init_distributed_environment, initialize_model_parallel
    from vllm.model_executor.model_loader.default_loader import DefaultModelLoader
    from vllm.model_executor.model_loader.utils import initialize_model
except ImportError as error:
    peer_missing("vllm", error)

MODELS = ("qwen3-micro", "llama-micro", "qwen35vl-micro")
FAMILIES = ("gemma", "gemma2", "gemma3", "gemma3-vl", "glm4-moe", "granite4-h", "lfm2", "llama-spm", "mistral3", "mixtral", "olmo2", "phi3", "qwen2-moe",
            "qwen3-moe", "qwen3-next", "qwen3-vl", "qwen3-vl-moe", "seed-oss", "smollm3")
PLAIN = {"lfm2": ("--keep", "*.conv.*")}  # what vLLM runs in BF16 alone
UNKNOWN = ("does not recognize this architecture", "not supported for now", "are not supported")


def load(folder):
    """What the loader says: the model's class, and the parameters that no tensor filled."""
    config = ModelConfig(model=str(folder), tokenizer=str(folder), dtype="bfloat16", max_model_len=256,
                         skip_tokenizer_init=True)
    whole = VllmConfig(model_config=config, load_config=LoadConfig(), device_config=DeviceConfig(device="cpu"))
    with set_current_vllm_config(whole):
        torch.set_default_dtype(torch.bfloat16)
        try:
            model = initialize_model(vllm_config=whole)
            loader = DefaultModelLoader(whole.load_config)
            loaded = model.load_weights(loader.get_all_weights(config, model))
        finally:
            torch.set_default_dtype(torch.float32)
    cache = (".k_scale", ".v_scale", ".q_scale", ".prob_scale")
    left = {name for name, _ in model.named_parameters() if not name.endswith(cache)} - set(loaded or ())
    return type(model).__name__, config.quantization, sorted(left)


def other_forms(ckpt, testdata, work):
    """(what it is, folder, vLLM's name of its quantization): experts that were in stacks, FP8 with NVFP4."""
    source, work = pathlib.Path(testdata) / "families/qwen3-moe/hf", pathlib.Path(work)
    convert(ckpt, source, work / "fused", "--step", "experts:to=fused")
    convert(ckpt, work / "fused", work / "single", "--step", "experts:to=single", "--for", "vllm-0.17")
    yield "experts out of stacks", work / "single", None
    convert(ckpt, source, work / "mixed", "--to", "nvfp4", "--preset", "experts-only-input-scale1", "--fp8", "*self_attn*",
            "--for", "vllm-0.17")
    yield "FP8 with NVFP4", work / "mixed", "modelopt_mixed"


def main(ckpt, testdata):
    vllm_on_cpu.choose_emulated_linears()
    vllm_on_cpu.choose_emulated_experts()
    known = 0
    with tempfile.TemporaryDirectory() as work:
        store = pathlib.Path(work) / "store"
        with set_current_vllm_config(VllmConfig()):
            init_distributed_environment(world_size=1, rank=0, local_rank=0, backend="gloo",
                                         distributed_init_method=f"file://{store}")
            initialize_model_parallel(1, 1)
        for model in (*MODELS, *(f"families/{family}/hf" for family in FAMILIES)):
            family = model.split("/")[1] if "/" in model else model
            folder = export(ckpt, testdata, model, work, "nvfp4", "--for", "vllm-0.17", *PLAIN.get(family, ()))
            try:
                name, quantization, left = load(folder)
            except Exception as error:
                if any(text in str(error) for text in UNKNOWN):
                    print(f"{model}: not known to vllm {vllm.__version__}")
                    continue
                raise
            assert quantization in ("modelopt_fp4", "modelopt"), f"{model}: quantization {quantization}"
            assert not left, f"{model}: parameters that nothing filled: {left[:5]}"
            print(f"{model}: {name}, {quantization}, every weight taken by vllm {vllm.__version__}")
            known += 1
        for what, folder, expected in other_forms(ckpt, testdata, work):
            name, quantization, left = load(folder)
            assert quantization == expected, f"{what}: quantization {quantization}"
            assert not left, f"{what}: parameters that nothing filled: {left[:5]}"
            print(f"{what}: {name}, {quantization}, every weight taken by vllm {vllm.__version__}")
    assert known > 0, "no model was known"


if __name__ == "__main__":
    main(*sys.argv[1:3])
