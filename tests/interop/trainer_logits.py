#!/usr/bin/env python3
"""Checkpoints of Megatron-core and torchtitan, converted, compute what the trainer's model computes.

  trainer_logits.py CKPT [NAME...]      with a Python that has torch, transformers 5 and on PYTHONPATH megatron-core

Of Megatron the model is megatron.core's own: its logits are compared with those of transformers on the folder that
ckpt made of a torch_dist checkpoint, and of one file for each rank. torchtitan's own code is its state_dict adapter,
from the folder CKPT_TORCHTITAN (an unpacked wheel), which turns a model of transformers into its tensors.
Exit 77 where torch, transformers or megatron-core cannot be had.
"""
import argparse
import contextlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
try:
    import torch
    import torch.distributed.checkpoint as dcp
    import torch.multiprocessing
    import transformers
    from megatron.core import dist_checkpointing, parallel_state
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.tensor_parallel import get_cuda_rng_tracker
    from megatron.core.transformer.transformer_config import TransformerConfig
except ImportError as error:
    print("missing:", error.name)
    sys.exit(77)

VOCABULARY, PADDED, LENGTH = 131, 136, 24
MODEL = {"num_layers": 4, "hidden_size": 48, "num_attention_heads": 6, "num_query_groups": 2, "kv_channels": 16,
         "ffn_hidden_size": 88}
# tensor parallelism, pipeline stages, and differences of args
MEGATRON = {
    "llama": (1, 1, {}),
    "qwen2-bias": (1, 1, {"add_qkv_bias": True}),
    "qwen3-tied": (1, 1, {"qk_layernorm": True, "untie_embeddings_and_output_weights": False}),
    "qwen3-tp2": (2, 1, {"qk_layernorm": True}),
    "llama-tp2-pp2": (2, 2, {}),
    "llama-pp4-rope": (1, 4, {"rotary_base": 500000, "norm_epsilon": 1e-6}),
}
TITAN = {"titan-llama": ("llama", {}), "titan-qwen3": ("qwen3", {"head_dim": 16}),
         "titan-qwen3-moe": ("qwen3_moe", {"head_dim": 16, "num_experts": 5, "num_experts_per_tok": 2,
                                           "moe_intermediate_size": 24})}
MOST = 2e-5  # of logits around 1: the order of sums differs


def ids():
    return torch.arange(LENGTH).mul(37).remainder(VOCABULARY)[None]


# ---- Megatron ----------------------------------------------------------------------------------------------------

def args_of(ranks, stages, changes):
    args = {**MODEL, "group_query_attention": True, "vocab_size": VOCABULARY, "padded_vocab_size": PADDED,
            "swiglu": True, "normalization": "RMSNorm", "norm_epsilon": 1e-5, "position_embedding_type": "rope",
            "rotary_percent": 1.0, "rotary_base": 10000, "rotary_interleaved": False, "max_position_embeddings": 64,
            "untie_embeddings_and_output_weights": True, "add_bias_linear": False, "add_qkv_bias": False,
            "qk_layernorm": False, "use_rope_scaling": False, "multi_latent_attention": False,
            "tensor_model_parallel_size": ranks, "pipeline_model_parallel_size": stages}
    return argparse.Namespace(**{**args, **changes})


def gpt_model(args, stage):
    config = TransformerConfig(
        **MODEL, gated_linear_unit=True, activation_func=torch.nn.functional.silu, normalization="RMSNorm",
        layernorm_epsilon=args.norm_epsilon, add_bias_linear=False, add_qkv_bias=args.add_qkv_bias,
        qk_layernorm=args.qk_layernorm, hidden_dropout=0.0, attention_dropout=0.0, params_dtype=torch.float32,
        pipeline_dtype=torch.float32, tensor_model_parallel_size=args.tensor_model_parallel_size,
        pipeline_model_parallel_size=args.pipeline_model_parallel_size, use_cpu_initialization=True,
        gradient_accumulation_fusion=False, bias_activation_fusion=False)
    spec = get_gpt_layer_local_spec(qk_layernorm=args.qk_layernorm, normalization="RMSNorm")
    model = GPTModel(config, spec, PADDED, 64, pre_process=stage == 0,
                     post_process=stage == args.pipeline_model_parallel_size - 1, parallel_output=False,
                     share_embeddings_and_output_weights=not args.untie_embeddings_and_output_weights,
                     position_embedding_type="rope", rotary_base=args.rotary_base)
    torch.manual_seed(11 + torch.distributed.get_rank())
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.dim() > 1 or getattr(value, "tensor_model_parallel", False):
                value.copy_(torch.randn(value.shape) * 0.08)
    return model.eval()


def run_stages(model, args, stage):
    """The logits, on the ranks of the last stage: each stage sends its hidden states to the next."""
    mask = torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1)[None, None]
    ranks, me = args.tensor_model_parallel_size, torch.distributed.get_rank()
    hidden = torch.empty(LENGTH, 1, args.hidden_size)
    if stage > 0:
        torch.distributed.recv(hidden, me - ranks)
        model.set_input_tensor(hidden)
    with torch.no_grad():
        out = model(ids(), torch.arange(LENGTH)[None], mask)
    if stage < args.pipeline_model_parallel_size - 1:
        torch.distributed.send(out.contiguous(), me + ranks)
    return out


def save_megatron(rank, name, folder):
    ranks, stages, changes = MEGATRON[name]
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks * stages), MASTER_ADDR="127.0.0.1", MASTER_PORT="29577")
    torch.cuda.current_device = lambda: torch.device("cpu")  # where megatron.core puts tables
    torch.cuda.synchronize = lambda: None
    get_cuda_rng_tracker().fork = contextlib.nullcontext  # of dropout, which is 0
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks * stages)
    parallel_state.initialize_model_parallel(ranks, stages)
    args = args_of(ranks, stages, changes)
    stage = parallel_state.get_pipeline_model_parallel_rank()
    model = gpt_model(args, stage)
    logits = run_stages(model, args, stage)
    dist, legacy = (folder / kind / "iter_0000007" for kind in ("dist", "legacy"))
    if rank == 0:
        dist.mkdir(parents=True)
        legacy.mkdir(parents=True)
    torch.distributed.barrier()
    own = f"mp_rank_{parallel_state.get_tensor_model_parallel_rank():02}" + (f"_{stage:03}" if stages > 1 else "")
    (legacy / own).mkdir()
    common = {"args": args, "checkpoint_version": 3.0, "iteration": 7}
    torch.save({**common, "model": model.state_dict_for_save_checkpoint()}, legacy / own / "model_optim_rng.pt")
    dist_checkpointing.save({**common, **model.sharded_state_dict()}, str(dist))
    if rank == ranks * stages - 1:
        torch.save(logits[..., :VOCABULARY], folder / "logits.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def check_megatron(ckpt, name, folder):
    ranks, stages, _ = MEGATRON[name]
    torch.multiprocessing.spawn(save_megatron, (name, folder), nprocs=ranks * stages)
    expected = torch.load(folder / "logits.pt")
    return max(difference(ckpt, folder / kind, folder / f"from-{kind}", expected) for kind in ("dist", "legacy"))


# ---- torchtitan --------------------------------------------------------------------------------------------------

def stub(name, **known):
    """A module whose every other name is an empty class."""
    module = types.ModuleType(name)
    module.__getattr__ = lambda word: type(word, (), {"Config": object})
    vars(module).update(known)
    sys.modules[name] = module


def titan_tensors(kind, model, config):
    """The tensors by torchtitan's own adapter. What this imports of its models is empty."""
    root = pathlib.Path(os.environ["CKPT_TORCHTITAN"]) / "torchtitan"

    class Adapter:
        def __init__(self, model_config, _):
            self.model_config, self.fqn_to_index_mapping = model_config, None

        def _validate_hf_rope_config(self, _):
            pass

    def load(name, file):
        found = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(found)
        sys.modules[name] = module
        found.loader.exec_module(module)
        return module

    for name in ("torchtitan", "torchtitan.models", "torchtitan.models.common", "torchtitan.protocols",
                 "torchtitan.tools"):
        stub(name, __path__=[])
    for name in ("torchtitan.models.common.rope", "torchtitan.models.common.decoder", "torchtitan.tools.logging", "torchtitan.models.adapted.model",
                 "torchtitan.protocols.model"):
        stub(name)
    stub("torchtitan.protocols.state_dict_adapter", StateDictAdapter=Adapter)
    load("torchtitan.models.utils", root / "models/utils.py")
    family = "llama3" if kind == "llama" else "qwen3"
    module = load("torchtitan.models.adapted.adapter", root / "models" / family / "state_dict_adapter.py")
    experts = types.SimpleNamespace(num_experts=getattr(config, "num_experts", 0))
    layer = types.SimpleNamespace(moe=experts, attention=types.SimpleNamespace(
        n_heads=config.num_attention_heads, n_kv_heads=config.num_key_value_heads, head_dim=config.head_dim))
    made = types.SimpleNamespace(layers=[layer], dim=config.hidden_size, enable_weight_tying=False)
    adapter = next(value for name, value in vars(module).items() if re.fullmatch(r"(Llama3|Qwen3)\w+Adapter", name))
    saved = transformers.core_model_loading.revert_weight_conversion(model, model.state_dict())
    return adapter(made, None).from_hf(saved)


def check_titan(ckpt, name, folder):
    kind, changes = TITAN[name]
    config = transformers.AutoConfig.for_model(
        kind, vocab_size=VOCABULARY, hidden_size=48, intermediate_size=88, num_hidden_layers=3, num_attention_heads=6,
        num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=False, **changes)
    torch.manual_seed(12)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    dcp.save(titan_tensors(kind, model, config), checkpoint_id=folder / "dcp", no_dist=True)
    config.architectures = [type(model).__name__]
    config.save_pretrained(folder / "dcp")
    with torch.no_grad():
        expected = model(input_ids=ids()).logits
    return difference(ckpt, folder / "dcp", folder / "made", expected)


# ---- both --------------------------------------------------------------------------------------------------------

def difference(ckpt, source, target, expected):
    subprocess.run([ckpt, "convert", source, target, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        target, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    wrong = {key: value for key, value in report.items() if value}
    if wrong:
        raise SystemExit(f"{target.name}: {wrong}")
    with torch.no_grad():
        found = model.eval()(input_ids=ids()).logits
    return ((found - expected).abs().max() / expected.abs().max()).item()


def main():
    ckpt, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    titan = TITAN if "CKPT_TORCHTITAN" in os.environ else {}
    failed = 0
    for name in names or [*MEGATRON, *titan]:
        with tempfile.TemporaryDirectory() as scratch:
            check = check_megatron if name in MEGATRON else check_titan
            found = check(ckpt, name, pathlib.Path(scratch))
        failed += found > MOST
        print(f"{name}: logits differ by {found:.1e} of the largest", flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
