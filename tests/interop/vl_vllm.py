#!/usr/bin/env python3
"""Real vLLM builds its vision-language class for wrapped exports and finds every weight by name and shape.

  CKPT_VLLM_PYTHON=venv17/bin/python:venv32/bin/python vl_vllm.py CKPT EXPORT...

EXPORT: text-only Qwen3.5 folders as NVIDIA ModelOpt or llm-compressor wrote them, with their weights. Each is wrapped without a BASE and loaded as
with --language-model-only, on a CPU: no kernel runs. A folder of plain floats works too.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

LOAD = r'''
import os, socket, sys
import torch
import vllm.platforms
from vllm.platforms.cpu import CpuPlatform
from vllm.platforms.interface import DeviceCapability

class AnyGpu(CpuPlatform):  # asked for kernels, of which none runs
    check_and_update_config = classmethod(lambda cls, config: None)
    get_device_capability = classmethod(lambda cls, *a, **k: DeviceCapability(10, 0))
    has_device_capability = is_device_capability = is_device_capability_family = classmethod(lambda cls, *a, **k: True)

vllm.platforms._current_platform = AnyGpu()
from vllm.config import DeviceConfig, ModelConfig, VllmConfig, set_current_vllm_config
from vllm.config.load import LoadConfig
from vllm.distributed import init_distributed_environment, initialize_model_parallel
from vllm.model_executor.model_loader.default_loader import DefaultModelLoader
from vllm.model_executor.model_loader.utils import initialize_model

try:  # releases that choose the kernel while they build the layers: the emulated one
    import vllm.model_executor.kernels.linear as linear
    import vllm.model_executor.layers.quantization.modelopt as modelopt
    from vllm.model_executor.kernels.linear.nvfp4.base import NvFp4LinearLayerConfig
    emulated = lambda *a, **k: linear.EmulationNvFp4LinearKernel(NvFp4LinearLayerConfig())
    for module in list(sys.modules.values()):
        if getattr(module, "init_nvfp4_linear_kernel", None) is not None:
            module.init_nvfp4_linear_kernel = emulated
except ImportError:
    pass
try:
    import vllm.model_executor.layers.fused_moe.oracle.nvfp4 as oracle
    import vllm.model_executor.layers.quantization.modelopt as modelopt
    kind = getattr(oracle.NvFp4MoeBackend, "EMULATION", None) or oracle.NvFp4MoeBackend.MARLIN
    kernel = oracle.backend_to_kernel_cls(kind)
    chosen = (kind, kernel[0] if isinstance(kernel, list) else kernel)
    oracle.select_nvfp4_moe_backend = modelopt.select_nvfp4_moe_backend = lambda *a, **k: chosen
except (ImportError, AttributeError):
    pass

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
with set_current_vllm_config(VllmConfig()):
    init_distributed_environment(world_size=1, rank=0, local_rank=0, backend="gloo",
                                 distributed_init_method=f"tcp://127.0.0.1:{port}")
    initialize_model_parallel(1, 1)
for folder in sys.argv[1:]:
    model_config = ModelConfig(model=folder, tokenizer=folder, skip_tokenizer_init=True, dtype="bfloat16", max_model_len=256,
                               language_model_only=True)
    config = VllmConfig(model_config=model_config, load_config=LoadConfig(), device_config=DeviceConfig(device="cpu"))
    with set_current_vllm_config(config):
        torch.set_default_dtype(torch.bfloat16)
        model = initialize_model(vllm_config=config)
        loaded = model.load_weights(DefaultModelLoader(config.load_config).get_all_weights(model_config, model))
        torch.set_default_dtype(torch.float32)
    run_time = (".attn.k_scale", ".attn.v_scale", ".attn.q_scale", ".attn.prob_scale")
    left = sorted(name for name, _ in model.named_parameters() if name not in loaded and not name.endswith(run_time))
    print("LOADED", type(model).__name__, model_config.quantization, "never filled:", left[:4])
'''

binary, exports = sys.argv[1], [pathlib.Path(each) for each in sys.argv[2:]]
pythons = [each for each in os.environ.get("CKPT_VLLM_PYTHON", "").split(":") if each]
if not pythons or not exports:
    print("peer missing: CKPT_VLLM_PYTHON names no Python with vllm, or no export was given")
    sys.exit(77)
failed = False
with tempfile.TemporaryDirectory() as name:
    folders = []
    for number, export in enumerate(exports):
        folders.append(pathlib.Path(name) / f"{number}-{export.name}")
        subprocess.run([binary, "convert", "-q", str(export), str(folders[-1]), "--step", "vl-wrap"], check=True,
                       stdout=subprocess.DEVNULL)
    env = dict(os.environ, VLLM_LOGGING_LEVEL="ERROR", HF_HUB_OFFLINE="1", VLLM_CPU_KVCACHE_SPACE="1", CUDA_VISIBLE_DEVICES="")
    for python in pythons:
        done = subprocess.run([python, "-c", LOAD, *map(str, folders)], env=env, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("LOADED ")]
        print(python, *lines, sep="\n  ")
        good = len(lines) == len(folders) and all("ForConditionalGeneration" in each and each.endswith("[]") for each in lines)
        if not good:
            print(done.stderr[-2000:])
        failed |= not good
sys.exit(1 if failed else 0)
