"""vLLM on a machine without a GPU, for the other scripts of this folder: import this before anything else of vLLM.

Weights are loaded as they would be on a GPU with FP4; no kernel runs.
"""
import importlib
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
from vllm.v1.attention.backends.registry import AttentionBackendEnum


class Blackwell(CpuPlatform):
    """A CPU that says it is a GPU with FP4: quantization methods ask before they are made."""

    @classmethod
    def check_and_update_config(cls, config):
        if config.cache_config is not None and config.cache_config.block_size is None:
            config.cache_config.block_size = 16

    @classmethod
    def get_device_capability(cls, *args, **kwargs):
        return DeviceCapability(10, 0)

    @classmethod
    def has_device_capability(cls, *args, **kwargs):
        return True

    @classmethod
    def get_attn_backend_cls(cls, selected_backend, attn_selector_config, *args, **kwargs):
        if getattr(attn_selector_config, "use_sparse", False):  # of latent attention; any of it takes the same weights
            attn_selector_config = attn_selector_config._replace(use_sparse=False)
        try:
            return super().get_attn_backend_cls(selected_backend, attn_selector_config, *args, **kwargs)
        except NotImplementedError:
            return AttentionBackendEnum.TRITON_MLA.get_path()

    is_device_capability = is_device_capability_family = has_device_capability


platforms._current_platform = Blackwell()
for activation in ("silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "gelu_new", "gelu_fast", "gelu_quick"):
    # looked up while a model is built
    setattr(torch.ops._C, activation, None)


def inspect_models_here():
    """Releases ask a process of their own what a model's class can do, and starting one takes longer than all the rest."""
    from vllm.model_executor.models import registry
    registry._run_in_subprocess = lambda ask: ask()


inspect_models_here()


def choose_emulated_linears():
    """Newer releases pick a kernel while the model is built, and none of a GPU's is here."""
    try:
        import vllm.model_executor.kernels.linear as linear
        import vllm.model_executor.layers.quantization.modelopt
        from vllm.model_executor.kernels.linear.nvfp4.base import NvFp4LinearLayerConfig
    except ImportError:
        return
    choose = linear.choose_scaled_mm_linear_kernel

    def choose_any(config, possible_kernels, *args, **kwargs):
        try:
            return choose(config, possible_kernels, *args, **kwargs)
        except ValueError:  # blocks of FP8, without a processor for them
            return possible_kernels[platforms.current_platform._enum][0]

    replace_everywhere("choose_scaled_mm_linear_kernel", choose_any)
    replace_everywhere("init_nvfp4_linear_kernel", lambda *args, **kwargs: linear.EmulationNvFp4LinearKernel(
        NvFp4LinearLayerConfig()))


def replace_everywhere(name, made):
    """In the modules that have imported it too."""
    for module in list(sys.modules.values()):
        if getattr(module, name, None) is not None:
            setattr(module, name, made)


# Module of releases that choose kernels of experts; its backends, of which the first that a release has; what chooses.
ORACLES = (("nvfp4", "NvFp4MoeBackend", ("EMULATION", "MARLIN"), "select_nvfp4_moe_backend"),
           ("mxfp4", "Mxfp4MoeBackend", ("EMULATION", "MARLIN"), "select_mxfp4_moe_backend"),
           ("int_wna16", "WNA16MoEBackend", ("EMULATION", "MARLIN"), "select_wna16_moe_backend"),
           ("fp8", "Fp8MoeBackend", ("TRITON",), "select_fp8_moe_backend"),
           ("unquantized", "UnquantizedMoeBackend", ("TRITON",), "select_unquantized_moe_backend"))


def choose_emulated_experts():
    for name, backends, preferred, choose in ORACLES:
        try:
            oracle = importlib.import_module(f"vllm.model_executor.layers.fused_moe.oracle.{name}")
            kinds = getattr(oracle, backends)
            kind = next(getattr(kinds, one) for one in preferred if hasattr(kinds, one))
            made = oracle.backend_to_kernel_cls(kind)
            import vllm.model_executor.layers.quantization.modelopt
        except (ImportError, AttributeError):
            continue
        picked = kind, made[0] if isinstance(made, list) else made
        replace_everywhere(choose, lambda *args, picked=picked, **kwargs: picked)
    try:
        import vllm.model_executor.layers.quantization.mxfp4 as mxfp4
        marlin = mxfp4.Mxfp4Backend.MARLIN
    except (ImportError, AttributeError):  # newer releases have an oracle
        return
    replace_everywhere("get_mxfp4_backend", lambda *args, **kwargs: marlin)


class BlackwellOfKernels(Blackwell):
    """The same for the code that chooses kernels, which asks whether this is CUDA before it looks at weights."""

    _enum = platforms.PlatformEnum.CUDA

    def is_cuda(self):
        return True

    def is_cuda_alike(self):
        return True

    def is_cpu(self):
        return False


def choose_kernels_of_cuda():
    """Has releases from 0.32 on choose a layer's kernel as on a GPU; a kernel that only a GPU can build is then not asked."""
    try:
        from vllm.model_executor.kernels import linear
    except ImportError:
        return  # an older release
    from vllm.model_executor.layers.quantization.utils import marlin_utils
    chosen_by = (marlin_utils, linear, *(module for name, module in sys.modules.items() if name.startswith(linear.__name__ + ".")))
    for module in chosen_by:
        if hasattr(module, "current_platform"):
            module.current_platform = BlackwellOfKernels()


choose_kernels_of_cuda()
