"""vLLM on a machine without a GPU, for the scripts beside this one: import this before anything else of vLLM.

Weights are loaded as they would be on a GPU with FP4; no kernel runs.
"""
import os
import sys
import warnings

os.environ.update(VLLM_LOGGING_LEVEL="CRITICAL", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="",
                  VLLM_CPU_KVCACHE_SPACE="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
warnings.filterwarnings("ignore")

import torch
from vllm import platforms
from vllm.platforms.cpu import CpuPlatform
from vllm.platforms.interface import DeviceCapability


class Blackwell(CpuPlatform):
    """A CPU that says it is a GPU with FP4: quantization methods ask before they are made."""

    @classmethod
    def check_and_update_config(cls, config):
        pass

    @classmethod
    def get_device_capability(cls, *args, **kwargs):
        return DeviceCapability(10, 0)

    @classmethod
    def has_device_capability(cls, *args, **kwargs):
        return True

    is_device_capability = is_device_capability_family = has_device_capability


platforms._current_platform = Blackwell()
for activation in ("silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul"):  # looked up while a model is built
    setattr(torch.ops._C, activation, None)


def choose_emulated_linears():
    """Newer releases pick a kernel while the model is built, and none of a GPU's is here."""
    try:
        import vllm.model_executor.kernels.linear as linear
        import vllm.model_executor.layers.quantization.modelopt
        from vllm.model_executor.kernels.linear.nvfp4.base import NvFp4LinearLayerConfig
    except ImportError:
        return
    for module in list(sys.modules.values()):
        if getattr(module, "init_nvfp4_linear_kernel", None) is not None:
            module.init_nvfp4_linear_kernel = lambda *args, **kwargs: linear.EmulationNvFp4LinearKernel(
                NvFp4LinearLayerConfig())


def choose_emulated_experts():
    try:
        import vllm.model_executor.layers.fused_moe.oracle.nvfp4 as oracle
        import vllm.model_executor.layers.quantization.modelopt as modelopt
        kind = getattr(oracle.NvFp4MoeBackend, "EMULATION", None) or oracle.NvFp4MoeBackend.MARLIN
        made = oracle.backend_to_kernel_cls(kind)
    except (ImportError, AttributeError):
        return
    picked = kind, made[0] if isinstance(made, list) else made
    for module in (oracle, modelopt):
        module.select_nvfp4_moe_backend = lambda *args, **kwargs: picked
