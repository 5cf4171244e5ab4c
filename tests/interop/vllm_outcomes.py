#!/usr/bin/env python3
"""What vLLM says of folders: one process that imports it once and forks for each folder.

usage: PYTHON vllm_outcomes.py [WARM_FOLDER...]     PYTHON has vllm; exits 77, "peer missing", without it

Reads lines of JSON, {"folder": ..., "text_only": true|false, "trust": true|false}, and answers each with one:
    {"outcome": "loads" | "unfilled" | "refuses" | "cannot say", "at": STAGE, "says": TEXT}
"ready VERSION" comes first. "unfilled": every step passes and parameters are left as they were made. "cannot say":
what stops it is this machine.
Stages, in the order in which a server goes through them: config (and everything that the engine
checks before it makes a model), tokenizer, model, weights.

No GPU is needed: weights are loaded into the model as they would be on one, and no kernel runs.
"""
import json
import os
import pathlib
import select
import signal
import sys
import tempfile

try:
    import vllm_on_cpu
    import torch
    import vllm
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.distributed import init_distributed_environment, initialize_model_parallel
    from vllm.engine.arg_utils import EngineArgs
    from vllm.model_executor.model_loader.default_loader import DefaultModelLoader
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.tokenizers import get_tokenizer
except ImportError as error:
    print(f"peer missing: vllm ({error})")
    sys.exit(77)

OF_THIS_MACHINE = ("CPU_ATTN", "Please install", "CUDA", "NVIDIA driver", "No module named")
CASE_SECONDS = 120
BYTES = (torch.uint8, torch.int8, torch.float8_e4m3fn)
MARK = 0xA7
# Of a cache of keys and values, and the order of inputs of INT4; made by the engine where a checkpoint has none.
CACHE = (".k_scale", ".v_scale", ".q_scale", ".prob_scale", "_k_scale", "_v_scale", "_q_scale", "_prob_scale",
         ".k_zero_point", ".v_zero_point", ".q_zero_point", "_g_idx", "_g_idx_sort_indices")


class Refusal(Exception):
    pass


def stage(name, work):
    try:
        return work()
    except Exception as error:
        raise Refusal(name, f"{type(error).__name__}: {error}") from error


def mark(model):
    """Fills what a checkpoint is to fill with values that none holds in a whole row."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dtype in BYTES:
                parameter.view(torch.uint8).fill_(MARK)
            elif parameter.is_floating_point():
                parameter.fill_(float("nan"))


def is_marked(name, parameter, stored):
    """True when some row was never written; `stored`: names of the tensors, without what stands before the layer's number."""
    if parameter.dim() == 1 and name.endswith((".input_scale", ".weight_scale", ".weight_scale_2")) and in_layer(name) in stored:
        parameter = parameter[:1]  # of a matrix that is joined on the disk 0.17.1 fills no others
    if "in_proj_qkvz" in name and parameter.shape == (4,):
        parameter = parameter[[0, 3]]  # 0.17.1 fills no others: in_proj_qkv is treated as the first of three
    if parameter.dtype not in BYTES and not parameter.is_floating_point():
        return False
    rows = parameter.detach().reshape(parameter.shape[0], -1) if parameter.dim() else parameter.detach().reshape(1, 1)
    if parameter.dtype in BYTES:
        rows = rows.view(torch.uint8)
        return rows.shape[1] >= 8 and bool((rows == MARK).all(dim=1).any())
    return bool(rows.isnan().all(dim=1).any())


def in_layer(name):
    """"0.mlp.gate_up_proj.input_scale" of "model.layers.0.mlp.gate_up_proj.input_scale"."""
    return name[name.find("layers."):].removeprefix("layers.")


def dropped(model):
    """Parameters that weight-only layers make for checkpoints of other kinds, and drop."""
    for name, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if getattr(method, "use_a16", False) or (hasattr(method, "spec") and method.spec.activation is None):
            yield from (f"{name}.{scale}" for scale in ("input_scale", "w13_input_scale", "w2_input_scale"))


def unfilled(model, loaded, stored):
    """Parameters that no tensor filled, or only in part: of parts that are run as one, one may be missing."""
    unused = set(dropped(model))
    filled = {id(parameter) for name, parameter in model.named_parameters(remove_duplicate=False) if name in loaded}
    return sorted(name for name, parameter in model.named_parameters() if not name.endswith(CACHE) and name not in unused
                  and not parameter.is_meta  # a tower that --language-model-only leaves out
                  and (id(parameter) not in filled or is_marked(name, parameter, stored)))


def outcome(folder, text_only, trust):
    options = {"language_model_only": True} if text_only else {}
    if trust:
        options["trust_remote_code"] = True
    whole = stage("config", lambda: EngineArgs(model=folder, **options).create_engine_config())
    config = whole.model_config
    stage("config", config.get_diff_sampling_param)
    stage("tokenizer", lambda: get_tokenizer(folder, trust_remote_code=trust))
    with set_current_vllm_config(whole):
        torch.set_default_dtype(config.dtype)
        model = stage("model", lambda: initialize_model(vllm_config=whole))
        loader, loaded, stored = DefaultModelLoader(whole.load_config), set(), set()
        mark(model)
        take = model.load_weights

        def named(weights):
            for name, tensor in weights:
                stored.add(in_layer(name))
                yield name, tensor

        def noting(weights):
            loaded.update(take(named(weights)) or ())
            return loaded

        model.load_weights = noting
        stage("weights", lambda: loader.load_weights(model, config))
    left = unfilled(model, loaded, stored)
    if left:
        return {"outcome": "unfilled", "at": "weights", "says": f"{len(left)} parameters not filled: {', '.join(left[:3])}"}
    return {"outcome": "loads", "at": "", "says": type(model).__name__}


def said(folder, text_only, trust=False):
    try:
        return outcome(folder, text_only, trust)
    except Refusal as refusal:
        at, text = refusal.args
        is_here = any(word in text for word in OF_THIS_MACHINE)
        return {"outcome": "cannot say" if is_here else "refuses", "at": at, "says": " ".join(text.split())[:300]}


def in_a_fork(folder, text_only, trust):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        if not os.environ.get("CKPT_LOADER_TALKS"):
            os.dup2(silence, 2)
        os.write(writer, json.dumps(said(folder, text_only, trust)).encode())
        os._exit(0)
    os.close(writer)
    ready, _, _ = select.select([reader], [], [], CASE_SECONDS)
    answer = os.read(reader, 1 << 16) if ready else b""
    os.close(reader)
    if not answer:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    dead = {"outcome": "refuses", "at": "", "says": "the loader died" if ready else "the loader hangs"}
    return json.loads(answer) if answer else dead


def main(warm):
    vllm_on_cpu.choose_emulated_linears()
    vllm_on_cpu.choose_emulated_experts()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        store = pathlib.Path(work) / "store"
        with set_current_vllm_config(VllmConfig()):
            init_distributed_environment(world_size=1, rank=0, local_rank=0, backend="gloo",
                                         distributed_init_method=f"file://{store}")
            initialize_model_parallel(1, 1)
        for folder in warm:  # what this imports, no fork needs to
            said(folder, False)
        print(f"ready {vllm.__version__}", flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            print(json.dumps(in_a_fork(asked["folder"], asked["text_only"], asked.get("trust", False))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
