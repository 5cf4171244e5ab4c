#!/usr/bin/env python3
"""Our exports of QAT checkpoints are NVIDIA ModelOpt's, byte for byte, for models of other widths than testdata's.

usage: PYTHON modelopt_exports.py CKPT TESTDATA      PYTHON has nvidia-modelopt 0.47, torch and transformers

Small models are made, calibrated and moved as training would, saved as a trainer saves them, and exported by
ModelOpt on a CPU; `ckpt convert --to nvfp4` of what was saved must give the same files.
"""
import pathlib
import sys
import tempfile
import warnings

from make_exports import convert, peer_missing

warnings.filterwarnings("ignore")
try:
    import modelopt.torch.opt as mto
    import modelopt.torch.quantization as mtq
    import torch
    from modelopt.torch.export import export_hf_checkpoint
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM
except ImportError as error:
    peer_missing("nvidia-modelopt with torch and transformers", error)

SHARED = {"vocab_size": 160, "max_position_embeddings": 256, "tie_word_embeddings": False}
MODELS = {
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(hidden_size=192, intermediate_size=336, num_hidden_layers=2, head_dim=48,
                                            num_attention_heads=6, num_key_value_heads=2, **SHARED)),
    "llama": (LlamaForCausalLM, LlamaConfig(hidden_size=320, intermediate_size=784, num_hidden_layers=3,
                                            num_attention_heads=5, num_key_value_heads=1, **SHARED)),
}
COMPARED = ("model.safetensors", "config.json", "hf_quant_config.json")


def make(name, kind, config, folder):
    """A QAT checkpoint whose weights moved after calibration, and ModelOpt's export of it."""
    torch.manual_seed(7)
    model = kind(config).to(torch.bfloat16).eval()
    tokens = torch.randint(0, config.vocab_size, (4, 64))

    def calibrate(model):
        with torch.no_grad():
            model(tokens)

    model = mtq.quantize(model, mtq.NVFP4_DEFAULT_CFG, calibrate)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(1 + 0.15 * torch.randn(parameter.shape).to(parameter.dtype))
    mto.enable_huggingface_checkpointing()
    model.save_pretrained(folder / f"{name}-qat")
    model.config.dtype = torch.bfloat16
    with torch.inference_mode():
        export_hf_checkpoint(model, export_dir=folder / f"{name}-export")


with tempfile.TemporaryDirectory() as work:
    folder = pathlib.Path(work)
    for name, (kind, config) in MODELS.items():
        make(name, kind, config, folder)
        ours = folder / f"{name}-ours"
        convert(sys.argv[1], folder / f"{name}-qat", ours, "--step", "export:type=nvfp4,rounding=cpu")
        for file in COMPARED:
            theirs = (folder / f"{name}-export" / file).read_bytes()
            assert (ours / file).read_bytes() == theirs, f"{name}: {file} differs"
        print(f"{name}: {', '.join(COMPARED)} are ModelOpt's")
