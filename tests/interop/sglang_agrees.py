#!/usr/bin/env python3
"""What `ckpt doctor --for sglang` says of a folder is what SGLang does with it: configuration, tokenizer, model, weights.

usage: PYTHON sglang_agrees.py CKPT TESTDATA      PYTHON has sglang 0.5.23 with transformers 5.19, whose own release counts:
5.20 keeps less of PhiConfig; exits 77, "peer missing", without it

Asked of: every family of testdata as it is, what --for sglang makes of those that are refused, and each family's exports.
No GPU is needed: weights are loaded as they would be on one, and no kernel runs. What SGLang cannot do without a GPU
(experts in FP4, some attention) is named and left out.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from make_exports import peer_missing, write_amax

os.environ.update(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", SGLANG_USE_CPU_ENGINE="1", OMP_NUM_THREADS="1")
try:
    import torch
    import sglang
    # Classes look kernels up while they are imported; none runs here.
    kernels = torch.library.Library("sgl_kernel", "FRAGMENT")
    sources = (path.read_text() for path in pathlib.Path(sglang.__path__[0], "srt").rglob("*.py"))
    for name in set(re.findall(r"torch\.ops\.sgl_kernel\.(\w+_cpu)", "".join(sources))):
        if not hasattr(torch.ops.sgl_kernel, name):
            kernels.define(f"{name}(Tensor x) -> Tensor")
    import sglang.srt.layers.attention.mamba.mamba as mamba
    for name in ("causal_conv1d_fn", "causal_conv1d_fn_triton", "causal_conv1d_update", "causal_conv1d_update_triton"):
        if not hasattr(mamba, name):
            setattr(mamba, name, None)
    from sglang.srt.configs.load_config import LoadConfig
    from sglang.srt.configs.model_config import ModelConfig
    from sglang.srt.distributed import init_distributed_environment, initialize_model_parallel
    from sglang.srt.layers.dp_attention import initialize_dp_attention
    from sglang.srt.layers.quantization import modelopt_quant
    from sglang.srt.model_loader.loader import DefaultModelLoader, _get_quantization_config, _initialize_model
    from sglang.srt import runtime_context
    from sglang.srt.model_loader.utils import set_default_torch_dtype
    from sglang.srt.server_args import ServerArgs, set_global_server_args_for_scheduler
    from sglang.srt.utils.hf_transformers_utils import get_tokenizer
except ImportError as error:
    peer_missing("sglang", error)

# Errors that this machine, or the small size of testdata's models, causes in SGLang, not the folder.
OF_THIS_MACHINE = ("NVIDIA driver", "attention backend", "mxfp4. Must be one of", "get_rope_cpu", "rope_scaling is not None",
                   "original_total_num_kv_heads", "not divisible", "KV sharing layer", "only supports trtllm", "requires one of",
                   "fast_topk_v2")
PLATFORM = modelopt_quant.get_platform()
CACHE = (".k_scale", ".v_scale")  # of keys and values; the server makes them where a checkpoint has none
SCALE1 = ("--preset", "default-input-scale1")
EXPORTS = {"as NVFP4": ("--to", "nvfp4", *SCALE1, "--step", "serving-config"),
           "as NVFP4 for it": ("--to", "nvfp4", *SCALE1, "--for", "sglang"),
           "as NVFP4 W4A16 for it": ("--to", "nvfp4-w4a16", "--for", "sglang"),
           "as FP8": ("--to", "fp8", "--amax-from", "AMAX", "--step", "serving-config"),
           "as FP8 for it": ("--to", "fp8", "--amax-from", "AMAX", "--for", "sglang")}


def alone_in_its_group():
    """What the launcher tells each process of its place."""
    ranks = [name for name in runtime_context._parallel_fields() if name.endswith("_rank")]
    runtime_context.get_parallel().override_permanently(**dict.fromkeys(ranks, 0))


def mark(model):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and parameter.dtype != torch.float8_e4m3fn:
                parameter.fill_(float("nan"))


class Blackwell:
    """The platform, as a GPU that computes in FP4."""

    is_blackwell = True

    def __getattr__(self, name):
        return getattr(PLATFORM, name)


def take_the_place_of_a_gpu():
    for name in ("is_sm100_supported", "is_sm120_supported", "is_blackwell_supported"):
        if hasattr(modelopt_quant, name):
            setattr(modelopt_quant, name, lambda *args, **kwargs: True)
    modelopt_quant.ModelOptFp4Config.get_min_capability = classmethod(lambda cls: 0)
    modelopt_quant.get_platform = Blackwell
    torch.get_device_module = lambda device=None: torch.cpu


def is_idle(name, config):
    """Whether the class makes the parameter and never computes with it."""
    layer = re.search(r"\.layers\.(\d+)\.", name)
    text = getattr(config, "text_config", None) or config
    shared = getattr(text, "num_kv_shared_layers", 0) or 0  # Gemma 3n, whose last layers read keys and values of others
    is_shared = layer and int(layer.group(1)) >= text.num_hidden_layers - shared and ".self_attn." in name
    is_w4a16 = "W4A16" in str(getattr(config, "quantization_config", None))
    return (name.endswith(CACHE) or (is_shared and (".qkv_proj." in name or ".k_norm." in name))
            or (text.model_type == "falcon_h1" and name.endswith(("q_norm.weight", "k_norm.weight")))
            or (is_w4a16 and name.endswith("input_scale")))


def is_marked(parameter):
    """True when some row was never written."""
    if not parameter.is_floating_point() or parameter.dtype == torch.float8_e4m3fn:
        return False
    rows = parameter.detach().reshape(parameter.shape[0] if parameter.dim() else 1, -1)
    return bool(rows.isnan().all(dim=1).any())


def answer_of(folder):
    """"" when every step passes and every parameter is filled; else what SGLang says, with the place in its code."""
    try:
        arguments = ServerArgs(model_path=str(folder), device="cpu", attention_backend="torch_native", disable_cuda_graph=True,
                               disable_radix_cache=True)  # a cache of states of Mamba needs a GPU
        set_global_server_args_for_scheduler(arguments)
        alone_in_its_group()
        config = ModelConfig.from_server_args(arguments)
        for level in (config.hf_config, getattr(config.hf_config, "text_config", None)):
            if hasattr(level, "linear_num_value_heads"):  # the launcher sets these on a CPU
                level.linear_num_value_heads_cpu = level.linear_num_value_heads
                level.linear_num_key_heads_cpu = level.linear_num_key_heads
        try:
            get_tokenizer(str(folder))
        except Exception:
            get_tokenizer(str(folder), trust_remote_code=True)  # as the doctor's command says
        initialize_dp_attention(arguments)
        load_config = LoadConfig()
        with set_default_torch_dtype(torch.bfloat16):
            model = _initialize_model(config, load_config, _get_quantization_config(config, load_config))
        if config.is_generation and config.hf_config.architectures[0].endswith("Model"):
            return "made as a model that generates, by the code of transformers"
        mark(model)
        model.load_weights(DefaultModelLoader(load_config)._get_all_weights(config, model))
        left = [name for name, parameter in model.named_parameters() if is_marked(parameter) and not is_idle(name, config.hf_config)]
        return f"not filled: {', '.join(left[:3])}" if left else ""
    except Exception as error:
        frame = error.__traceback__
        while frame.tb_next:
            frame = frame.tb_next
        return f"{type(error).__name__}: {error} ({frame.tb_frame.f_code.co_name})".replace("\n", " ")


def doctor_says_yes(ckpt, folder):
    """None: not checked."""
    result = subprocess.run([ckpt, "doctor", str(folder), "--for", "sglang", "--json"], capture_output=True, text=True)
    assert result.returncode in (0, 1, 3), f"{folder}: {result.stderr}"
    if result.returncode == 3:
        return None
    said = result.stdout.replace(" ", "")
    return '"severity":"unloaded"' not in said and '"severity":"unsound"' not in said


def folders(ckpt, testdata, work):
    """(what it is, folder)."""
    for source in sorted(pathlib.Path(testdata).glob("families/*/hf")):
        family = source.parent.name
        yield family, source
        if doctor_says_yes(ckpt, source) is False:
            made = pathlib.Path(work) / f"{family}-fixed"
            if subprocess.run([ckpt, "convert", "-q", source, made, "--for", "sglang"], capture_output=True).returncode == 0:
                yield f"{family} --for sglang", made
        amax = pathlib.Path(work) / f"{family}.json"
        write_amax(source, amax)
        for form, options in EXPORTS.items():
            made = pathlib.Path(work) / f"{family} {form}"
            options = [str(amax) if option == "AMAX" else option for option in options]
            subprocess.run([ckpt, "convert", "-q", source, made, *options], capture_output=True)
            if made.is_dir():  # some families have no such export
                yield f"{family} {form}", made
                shutil.rmtree(made)
    fused = pathlib.Path(work) / "fused"
    subprocess.run([ckpt, "convert", "-q", pathlib.Path(testdata) / "families/qwen3-moe/hf", fused, "--step", "experts:to=fused"],
                   capture_output=True, check=True)
    yield "qwen3-moe in stacks", fused


def main(ckpt, testdata):
    take_the_place_of_a_gpu()
    asked, differ = 0, []
    with tempfile.TemporaryDirectory() as work:
        first = next(pathlib.Path(testdata).glob("families/tinyllama/hf"))
        set_global_server_args_for_scheduler(ServerArgs(model_path=str(first), device="cpu", attention_backend="torch_native"))
        init_distributed_environment(backend="gloo", world_size=1, rank=0, local_rank=0,
                                     distributed_init_method=f"file://{work}/store")
        initialize_model_parallel()
        for what, folder in folders(ckpt, testdata, work):
            says = answer_of(folder)
            if any(text in says for text in OF_THIS_MACHINE):
                print(f"{what}: not to be asked here: {says[:100]}")
                continue
            expected = doctor_says_yes(ckpt, folder)
            print(f"{what}: {'loads' if not says else says[:150]}{' (not checked)' * (expected is None)}", flush=True)
            asked += expected is not None
            if expected is not None and expected != (not says):
                differ.append(f"{what}: the doctor says {'yes' if expected else 'no'}; SGLang {sglang.__version__}: {says or 'loads'}")
    print("\n".join(differ))
    assert asked > 20, f"{asked} folders could be asked"
    assert not differ, f"{len(differ)} of {asked} answers differ"
    print(f"{asked} answers, all as the doctor says")


if __name__ == "__main__":
    main(*sys.argv[1:3])
