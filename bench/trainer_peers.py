#!/usr/bin/env python3
"""Time and peak memory of `ckpt convert` next to the trainers' own programs, on the same checkpoints of two ranks.

usage: trainer_peers.py CKPT FOLDER      with a Python that has torch, transformers 5 and deepspeed, and for verl's
                                         merger its unpacked wheel on PYTHONPATH

FOLDER gets a Llama of 106 million parameters as FSDP's DCP, as verl's files of ranks, both BF16, and as ZeRO-2 with
its masters and moments in F32. Each program runs three times in turn; the least time and the largest memory count.
"""
import importlib.abc
import importlib.machinery
import os
import pathlib
import shutil
import subprocess
import sys
import time
from unittest import mock

RANKS, RUNS = 2, 3
os.environ.update(DS_ACCELERATOR="cpu", TRANSFORMERS_VERBOSITY="error", MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")


class Empty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages that verl imports and its merger does not use."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in ("ray", "tensordict", "hydra", "omegaconf", "codetiming", "vllm", "datasets",
                                      "pandas", "torchdata", "tensorboard", "cachetools", "pyvers"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = mock.MagicMock(__path__=[], __spec__=spec, __version__="0.10.0")
        module.__name__ = spec.name
        return module

    def exec_module(self, module):
        pass


def run_peer(name, source, target):
    """Runs in a process of its own."""
    if name == "torch's dcp_to_torch_save":
        from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
        os.makedirs(target)
        dcp_to_torch_save(source, target + "/model.pt")
    elif name == "DeepSpeed's zero_to_fp32.py":
        from deepspeed.utils.zero_to_fp32 import convert_zero_checkpoint_to_fp32_state_dict
        convert_zero_checkpoint_to_fp32_state_dict(source, target, safe_serialization=True)
    else:
        sys.meta_path.append(Empty())
        from verl.model_merger import base_model_merger as base
        from verl.model_merger.fsdp_model_merger import FSDPModelMerger
        base.hf_processor = base.hf_tokenizer = lambda *_, **__: None  # the checkpoint has no tokenizer
        FSDPModelMerger(base.ModelMergerConfig(
            operation="merge", backend="fsdp", local_dir=source, target_dir=target,
            hf_model_config_path=source + "/huggingface")).merge_and_save()


def save_rank(rank, folder):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS))
    import deepspeed
    import torch
    import torch.distributed.checkpoint as dcp
    import transformers
    from torch.distributed.fsdp import fully_shard
    deepspeed.init_distributed("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(3)
    config = transformers.LlamaConfig(vocab_size=32000, hidden_size=768, intermediate_size=2048, num_hidden_layers=8,
                                      num_attention_heads=12, architectures=["LlamaForCausalLM"])
    model = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters())
    settings = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}, "bf16": {"enabled": True},
                "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False}
    engine = deepspeed.initialize(model=model, optimizer=optimizer, config=settings)[0]
    ids = torch.arange(8)[None]
    engine.backward(engine(input_ids=ids, labels=ids).loss)
    engine.step()
    engine.save_checkpoint(str(folder / "zero"))
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    mesh = torch.distributed.init_device_mesh("cpu", (RANKS,), mesh_dim_names=("fsdp",))
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    tensors = model.state_dict()
    dcp.save({"model": tensors}, checkpoint_id=folder / "dcp")
    (folder / "verl").mkdir(exist_ok=True)
    torch.save(tensors, folder / "verl" / f"model_world_size_{RANKS}_rank_{rank}.pt")
    if rank == 0:
        (folder / "verl" / "fsdp_config.json").write_text(f'{{"FSDP_version": 2, "world_size": {RANKS}}}')
        for each in ("verl/huggingface", "dcp", "zero"):
            config.save_pretrained(folder / each)
    torch.distributed.barrier()


def measured(command, target):
    """Seconds, and the largest resident memory in bytes."""
    shutil.rmtree(target, ignore_errors=True)
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{command}: {error.decode()[-2000:]}")
    return time.monotonic() - start, used.ru_maxrss * 1024


def main():
    ckpt, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    if not folder.exists():
        import torch.multiprocessing
        folder.mkdir(parents=True)
        torch.multiprocessing.spawn(save_rank, (folder,), nprocs=RANKS)
    print("| checkpoint | ckpt | next to | time | memory |\n| --- | ---: | --- | ---: | ---: |")
    for kind, peer in (("dcp", "torch's dcp_to_torch_save"), ("zero", "DeepSpeed's zero_to_fp32.py"),
                       ("verl", "verl's merger")):
        source, target = str(folder / kind), str(folder / "out")
        commands = [[ckpt, "convert", source, target, "--quiet"],
                    [sys.executable, __file__, "peer", peer, source, target]]
        runs = [[measured(command, target) for command in commands] for _ in range(RUNS)]
        (own, own_bytes), (other, other_bytes) = [
            (min(run[i][0] for run in runs), max(run[i][1] for run in runs)) for i in (0, 1)]
        print(f"| {kind} | {own:.2f} s, {own_bytes / 1e6:.0f} MB | {peer}: {other:.1f} s, {other_bytes / 1e6:.0f} MB "
              f"| {other / own:.1f} | {other_bytes / own_bytes:.1f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["peer"]:
        run_peer(*sys.argv[2:])
    else:
        main()
