"""The commands as functions. Written by backend/ckpt_functions.py from the options of the program; do not edit."""
from __future__ import annotations

from typing import Literal, Sequence, Union

from . import _api, _results as results
from ._process import Object, OptionValue, Path, ProgressCall

Paths = Union[Path, Sequence[Path]]


def show(path: Path, *, progress: ProgressCall | None = None, tensors: bool | str = False,
        sort: Literal["name", "type", "bytes"] | None = None, metadata: bool = False, follow_links: bool = False,
        threads: int | None = None, memory: str | float | None = None, limit_rate: str | float | None = None,
        **more: OptionValue) -> results.Checkpoint:
    """Describes a checkpoint; reads headers only.

    tensors: list tensors, or those that match GLOB.
    sort: order of --tensors: name, type or bytes; default: as stored.
    metadata: list metadata.
    follow_links: also read small files through links that leave the folder; config, tokenizer and others.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"tensors": tensors, "sort": sort, "metadata": metadata,
        "follow_links": follow_links, "threads": threads, "memory": memory, "limit_rate": limit_rate, **more}
    return _api.show(path, progress, options)


def convert(source: Path, out: Path, to: str | None = None, *, progress: ProgressCall | None = None,
        recipe: Path | None = None, tokenizer: Path | None = None, base: Path | None = None,
        weights: str | None = None, step: str | Sequence[str] | None = None, like: str | None = None,
        allow_nonfinite: bool = False, also: str | Sequence[str] | None = None, shard_size: str | float | None = None,
        header_slack: str | float | None = None, plan_out: Path | None = None, dry_run: bool = False,
        if_needed: bool = False, force: bool = False, cache_dir: Path | None = None,
        cache_size: str | float | None = None, target_size: str | float | None = None,
        target_bits: str | float | None = None, sensitivity: Path | None = None, target_cache: Path | None = None,
        imatrix: Path | None = None, keep: str | Sequence[str] | None = None, search: str | None = None,
        moments: Path | None = None, allow_requantize: bool = False, preset: str | None = None,
        amax_from: Path | None = None, kv_cache: str | None = None, only: str | Sequence[str] | None = None,
        fp8: str | Sequence[str] | None = None, rest: str | None = None, rounding: str | None = None,
        fresh_weight_amax: bool = False, tensor_type: str | Sequence[str] | None = None,
        output_tensor_type: str | None = None, token_embedding_type: str | None = None, pure: bool = False,
        leave_output_tensor: bool = False, split_size: str | float | None = None,
        split_tensors: str | float | None = None, tokenizer_pre: str | None = None, tokenizer_as: str | None = None,
        model_name: str | None = None, no_mtp: bool = False, keep_codes: bool = False, mmproj: Path | None = None,
        mmproj_only: bool = False, mmproj_type: str | None = None, for_: str | Sequence[str] | None = None,
        follow_links: bool = False, threads: int | None = None, memory: str | float | None = None,
        limit_rate: str | float | None = None, **more: OptionValue) -> results.Conversion:
    """Converts `source` to `out`.

    recipe: a JSON or YAML file with further options; - for stdin.
    tokenizer: folder to take the tokenizer from.
    base: the model that IN was made from; gives what IN lacks (configuration, tokenizer, weights), and what steps,
        fixes and a folder made from a GGUF need.
    weights: of a trainer's checkpoint: its model's weights or F32 masters.
    step: a step to run on IN first (ckpt list steps) (may repeat).
    like: read an unknown class by the table of this family or architecture; ckpt list families names them.
    allow_nonfinite: convert NaN and Inf as they are.
    also: one more output from the same pass over IN (may repeat).
    shard_size: largest .safetensors file, like 5GB; auto: equal files.
    header_slack: room for later edits of the header.
    plan_out: write the plan to FILE (or to -), for ckpt execute; converts nothing.
    dry_run: show the plan, write nothing.
    if_needed: do nothing if OUT is already the result of this plan for the same IN.
    force: replace OUT, if it holds nothing but a checkpoint.
    cache_dir: for URLs: a folder for data that is read twice; it holds, during the run, what does not fit in
        --memory.
    cache_size: the most that --cache-dir may hold (default: 64G).
    to: type to store weights in: q4_k_m, q8_0, bf16, ... (ckpt list types); several between commas, with {type} in
        OUT; default: keep the types.
    target_size: choose types of tensors so that OUT has at most this size, like 24GB.
    target_bits: choose types of tensors for so many bits per weight, like 4.6; of quantized tensors, or of a folder
        effective bits as ModelOpt counts them.
    sensitivity: for a target: a kld_results.csv with the weight of each tensor.
    target_cache: for a target: FILE that caches measured errors for the next run.
    imatrix: importance matrix (GGUF or .dat).
    keep: tensors that keep their type (may repeat).
    search: search for better block scales than the default; best for K-quants of 4 to 6 bits too (with --moments of 2
        to 6) (default: none); one of none, four-over-six, sweep, best.
    moments: second moments of the layers' inputs, for search=best.
    allow_requantize: allow another type for tensors that are quantized.
    preset: which layers; -input-scale1 and weight-only need no maxima of activations; or a recipe of ModelOpt: a
        file, or the NAME of one that it ships (default: default).
    amax_from: maxima of activations: an earlier export, a QAT checkpoint, a list.
    kv_cache: format of the KV cache; default: as in the source.
    only: tensors to quantize; all others stay (may repeat).
    fp8: layers to store as FP8, with NVFP4 (MIXED_PRECISION) (may repeat).
    rest: type of FP8 layers of the source that are not selected; fp8 keeps them (default: bf16).
    rounding: how scales are divided: gpu multiplies by a reciprocal (default: gpu).
    fresh_weight_amax: scan the weights and ignore the maxima stored in a QAT checkpoint.
    tensor_type: type of the tensors that match, by their names in IN or OUT; out:GLOB sees those in OUT alone; a
        regular expression is found in names in OUT; the last match wins (may repeat).
    output_tensor_type: type of output.weight.
    token_embedding_type: type of token_embd.weight.
    pure: no mixture: one type for all tensors that are quantized.
    leave_output_tensor: copy output.weight.
    split_size: largest .gguf file, writes a split; auto: equal files.
    split_tensors: most tensors of a .gguf file; writes a split.
    tokenizer_pre: name of the pre-tokenizer, instead of the one found; ckpt list pre-tokenizers has their rules.
    tokenizer_as: vocabulary to write where the source's and the converter's differ; source: llama.cpp splits texts as
        the source does (default: source).
    model_name: general.name, instead of that of the model card or the folder.
    no_mtp: drop the layers for multi-token prediction.
    keep_codes: keep INT4 codes of compressed-tensors, as q4_0; otherwise they are decoded.
    mmproj: FILE for the projector of a vision model, from the same pass over IN.
    mmproj_only: OUT is only the projector; --to is its type: f32, f16, bf16 or q8_0.
    mmproj_type: type of the projector's matrices; auto: that of the source (norms, position and patch embeddings are
        F32) (default: auto).
    for_: apply the fixes that ckpt doctor recommends for this program; ckpt list profiles (may repeat).
    follow_links: also read small files through links that leave the folder; config, tokenizer and others.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"recipe": recipe, "tokenizer": tokenizer, "base": base, "weights": weights,
        "step": step, "like": like, "allow_nonfinite": allow_nonfinite, "also": also, "shard_size": shard_size,
        "header_slack": header_slack, "plan_out": plan_out, "dry_run": dry_run, "if_needed": if_needed,
        "force": force, "cache_dir": cache_dir, "cache_size": cache_size, "to": to, "target_size": target_size,
        "target_bits": target_bits, "sensitivity": sensitivity, "target_cache": target_cache, "imatrix": imatrix,
        "keep": keep, "search": search, "moments": moments, "allow_requantize": allow_requantize, "preset": preset,
        "amax_from": amax_from, "kv_cache": kv_cache, "only": only, "fp8": fp8, "rest": rest, "rounding": rounding,
        "fresh_weight_amax": fresh_weight_amax, "tensor_type": tensor_type, "output_tensor_type": output_tensor_type,
        "token_embedding_type": token_embedding_type, "pure": pure, "leave_output_tensor": leave_output_tensor,
        "split_size": split_size, "split_tensors": split_tensors, "tokenizer_pre": tokenizer_pre,
        "tokenizer_as": tokenizer_as, "model_name": model_name, "no_mtp": no_mtp, "keep_codes": keep_codes,
        "mmproj": mmproj, "mmproj_only": mmproj_only, "mmproj_type": mmproj_type, "for_": for_,
        "follow_links": follow_links, "threads": threads, "memory": memory, "limit_rate": limit_rate, **more}
    return _api.convert(source, out, progress, options)


def plan(source: Path, out: Path, to: str | None = None, *, progress: ProgressCall | None = None,
        recipe: Path | None = None, tokenizer: Path | None = None, base: Path | None = None,
        weights: str | None = None, step: str | Sequence[str] | None = None, like: str | None = None,
        allow_nonfinite: bool = False, also: str | Sequence[str] | None = None, shard_size: str | float | None = None,
        header_slack: str | float | None = None, force: bool = False, cache_dir: Path | None = None,
        cache_size: str | float | None = None, target_size: str | float | None = None,
        target_bits: str | float | None = None, sensitivity: Path | None = None, target_cache: Path | None = None,
        imatrix: Path | None = None, keep: str | Sequence[str] | None = None, search: str | None = None,
        moments: Path | None = None, allow_requantize: bool = False, preset: str | None = None,
        amax_from: Path | None = None, kv_cache: str | None = None, only: str | Sequence[str] | None = None,
        fp8: str | Sequence[str] | None = None, rest: str | None = None, rounding: str | None = None,
        fresh_weight_amax: bool = False, tensor_type: str | Sequence[str] | None = None,
        output_tensor_type: str | None = None, token_embedding_type: str | None = None, pure: bool = False,
        leave_output_tensor: bool = False, split_size: str | float | None = None,
        split_tensors: str | float | None = None, tokenizer_pre: str | None = None, tokenizer_as: str | None = None,
        model_name: str | None = None, no_mtp: bool = False, keep_codes: bool = False, mmproj: Path | None = None,
        mmproj_only: bool = False, mmproj_type: str | None = None, for_: str | Sequence[str] | None = None,
        follow_links: bool = False, threads: int | None = None, memory: str | float | None = None,
        limit_rate: str | float | None = None, **more: OptionValue) -> results.Conversion:
    """Says what convert() would write, tensor by tensor, and writes nothing.

    recipe: a JSON or YAML file with further options; - for stdin.
    tokenizer: folder to take the tokenizer from.
    base: the model that IN was made from; gives what IN lacks (configuration, tokenizer, weights), and what steps,
        fixes and a folder made from a GGUF need.
    weights: of a trainer's checkpoint: its model's weights or F32 masters.
    step: a step to run on IN first (ckpt list steps) (may repeat).
    like: read an unknown class by the table of this family or architecture; ckpt list families names them.
    allow_nonfinite: convert NaN and Inf as they are.
    also: one more output from the same pass over IN (may repeat).
    shard_size: largest .safetensors file, like 5GB; auto: equal files.
    header_slack: room for later edits of the header.
    force: replace OUT, if it holds nothing but a checkpoint.
    cache_dir: for URLs: a folder for data that is read twice; it holds, during the run, what does not fit in
        --memory.
    cache_size: the most that --cache-dir may hold (default: 64G).
    to: type to store weights in: q4_k_m, q8_0, bf16, ... (ckpt list types); several between commas, with {type} in
        OUT; default: keep the types.
    target_size: choose types of tensors so that OUT has at most this size, like 24GB.
    target_bits: choose types of tensors for so many bits per weight, like 4.6; of quantized tensors, or of a folder
        effective bits as ModelOpt counts them.
    sensitivity: for a target: a kld_results.csv with the weight of each tensor.
    target_cache: for a target: FILE that caches measured errors for the next run.
    imatrix: importance matrix (GGUF or .dat).
    keep: tensors that keep their type (may repeat).
    search: search for better block scales than the default; best for K-quants of 4 to 6 bits too (with --moments of 2
        to 6) (default: none); one of none, four-over-six, sweep, best.
    moments: second moments of the layers' inputs, for search=best.
    allow_requantize: allow another type for tensors that are quantized.
    preset: which layers; -input-scale1 and weight-only need no maxima of activations; or a recipe of ModelOpt: a
        file, or the NAME of one that it ships (default: default).
    amax_from: maxima of activations: an earlier export, a QAT checkpoint, a list.
    kv_cache: format of the KV cache; default: as in the source.
    only: tensors to quantize; all others stay (may repeat).
    fp8: layers to store as FP8, with NVFP4 (MIXED_PRECISION) (may repeat).
    rest: type of FP8 layers of the source that are not selected; fp8 keeps them (default: bf16).
    rounding: how scales are divided: gpu multiplies by a reciprocal (default: gpu).
    fresh_weight_amax: scan the weights and ignore the maxima stored in a QAT checkpoint.
    tensor_type: type of the tensors that match, by their names in IN or OUT; out:GLOB sees those in OUT alone; a
        regular expression is found in names in OUT; the last match wins (may repeat).
    output_tensor_type: type of output.weight.
    token_embedding_type: type of token_embd.weight.
    pure: no mixture: one type for all tensors that are quantized.
    leave_output_tensor: copy output.weight.
    split_size: largest .gguf file, writes a split; auto: equal files.
    split_tensors: most tensors of a .gguf file; writes a split.
    tokenizer_pre: name of the pre-tokenizer, instead of the one found; ckpt list pre-tokenizers has their rules.
    tokenizer_as: vocabulary to write where the source's and the converter's differ; source: llama.cpp splits texts as
        the source does (default: source).
    model_name: general.name, instead of that of the model card or the folder.
    no_mtp: drop the layers for multi-token prediction.
    keep_codes: keep INT4 codes of compressed-tensors, as q4_0; otherwise they are decoded.
    mmproj: FILE for the projector of a vision model, from the same pass over IN.
    mmproj_only: OUT is only the projector; --to is its type: f32, f16, bf16 or q8_0.
    mmproj_type: type of the projector's matrices; auto: that of the source (norms, position and patch embeddings are
        F32) (default: auto).
    for_: apply the fixes that ckpt doctor recommends for this program; ckpt list profiles (may repeat).
    follow_links: also read small files through links that leave the folder; config, tokenizer and others.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"recipe": recipe, "tokenizer": tokenizer, "base": base, "weights": weights,
        "step": step, "like": like, "allow_nonfinite": allow_nonfinite, "also": also, "shard_size": shard_size,
        "header_slack": header_slack, "force": force, "cache_dir": cache_dir, "cache_size": cache_size, "to": to,
        "target_size": target_size, "target_bits": target_bits, "sensitivity": sensitivity,
        "target_cache": target_cache, "imatrix": imatrix, "keep": keep, "search": search, "moments": moments,
        "allow_requantize": allow_requantize, "preset": preset, "amax_from": amax_from, "kv_cache": kv_cache,
        "only": only, "fp8": fp8, "rest": rest, "rounding": rounding, "fresh_weight_amax": fresh_weight_amax,
        "tensor_type": tensor_type, "output_tensor_type": output_tensor_type,
        "token_embedding_type": token_embedding_type, "pure": pure, "leave_output_tensor": leave_output_tensor,
        "split_size": split_size, "split_tensors": split_tensors, "tokenizer_pre": tokenizer_pre,
        "tokenizer_as": tokenizer_as, "model_name": model_name, "no_mtp": no_mtp, "keep_codes": keep_codes,
        "mmproj": mmproj, "mmproj_only": mmproj_only, "mmproj_type": mmproj_type, "for_": for_,
        "follow_links": follow_links, "threads": threads, "memory": memory, "limit_rate": limit_rate, **more}
    return _api.plan(source, out, progress, options)


def execute(plan: Path, *, progress: ProgressCall | None = None, part: str | None = None, index: str | None = None,
        cache_dir: Path | None = None, cache_size: str | float | None = None, force: bool = False,
        follow_links: bool = False, threads: int | None = None, memory: str | float | None = None,
        limit_rate: str | float | None = None, **more: OptionValue) -> results.Conversion:
    """Runs a plan of convert(plan_out=...), or one share of it.

    part: I/N: only this share of the work; the last of N completes the plan.
    index: like --part but zero-based, as Kubernetes' JOB_COMPLETION_INDEX is; not with --part.
    cache_dir: for URLs: a folder for data that is read twice; it holds, during the run, what does not fit in
        --memory.
    cache_size: the most that --cache-dir may hold (default: 64G).
    force: replace OUT, if it holds nothing but a checkpoint.
    follow_links: also read small files through links that leave the folder; config, tokenizer and others.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"part": part, "index": index, "cache_dir": cache_dir, "cache_size": cache_size,
        "force": force, "follow_links": follow_links, "threads": threads, "memory": memory, "limit_rate": limit_rate,
        **more}
    return _api.execute(plan, progress, options)


def patch(path: Path, *steps: str, progress: ProgressCall | None = None, recipe: Path | None = None,
        step: str | Sequence[str] | None = None, out: Path | None = None, link: str | None = None,
        rewrite_weights: bool = False, header_slack: str | float | None = None, dry_run: bool = False,
        finish_copied: bool = False, allow_nonfinite: bool = False, follow_links: bool = False,
        threads: int | None = None, memory: str | float | None = None, limit_rate: str | float | None = None,
        **more: OptionValue) -> results.Patched:
    """Edits a checkpoint in place.

    recipe: a JSON or YAML file with further options; - for stdin.
    step: a step to run; ckpt list steps explains them (may repeat).
    out: write the patched checkpoint here; PATH stays as it is.
    link: how to link unchanged files: reflink, hard or copy (default: reflink); reflink copies where blocks cannot be
        shared.
    rewrite_weights: allow steps that change values of tensors in place.
    header_slack: room for later edits, in headers that are rewritten.
    dry_run: show the changes to each file, write nothing.
    finish_copied: finish an interrupted patch of a PATH that was copied or moved here; not with --dry-run.
    allow_nonfinite: copy NaN and Inf as they are.
    follow_links: also read small files through links that leave the folder; config, tokenizer and others.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"recipe": recipe, "step": step, "out": out, "link": link,
        "rewrite_weights": rewrite_weights, "header_slack": header_slack, "dry_run": dry_run,
        "finish_copied": finish_copied, "allow_nonfinite": allow_nonfinite, "follow_links": follow_links,
        "threads": threads, "memory": memory, "limit_rate": limit_rate, **more}
    return _api.patch(path, steps, progress, options)


def doctor(path: Path, for_: str | Sequence[str] | None = None, *, progress: ProgressCall | None = None,
        base: Path | None = None, fix: bool = False, out: Path | None = None, dry_run: bool = False,
        rewrite_weights: bool = False, deep: bool = False, imatrix: Path | None = None, moments: Path | None = None,
        follow_links: bool = False, threads: int | None = None, memory: str | float | None = None,
        limit_rate: str | float | None = None, **more: OptionValue) -> results.Diagnosis:
    """Checks whether programs load a checkpoint and compute the right results.

    for_: PROFILE of a program, or all; ckpt list profiles; default: the current release of each program (may repeat).
    base: the unquantized model, for fixes that need it; the folder of a GGUF's source.
    fix: apply the fixes in place, then check again.
    out: with --fix: write the fixed checkpoint here; PATH stays.
    dry_run: with --fix: show what would change, write nothing.
    rewrite_weights: with --fix: also fixes that change weights.
    deep: read the tensors too: NaN, scales, rows of zeros.
    imatrix: also check whether this importance matrix is of the model; GGUF or .dat.
    moments: also check whether these second moments are of the model; docs/SEARCH.md.
    follow_links: also read small files through links that leave the folder; config, tokenizer and others.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"for_": for_, "base": base, "fix": fix, "out": out, "dry_run": dry_run,
        "rewrite_weights": rewrite_weights, "deep": deep, "imatrix": imatrix, "moments": moments,
        "follow_links": follow_links, "threads": threads, "memory": memory, "limit_rate": limit_rate, **more}
    return _api.doctor(path, progress, options)


def diff(a: Path, b: Path, *, progress: ProgressCall | None = None, values: bool = False, tensors: str | None = None,
        follow_links: bool = False, top: int | None = None, fail_if: str | Sequence[str] | None = None,
        threads: int | None = None, memory: str | float | None = None, limit_rate: str | float | None = None,
        **more: OptionValue) -> results.Comparison:
    """Compares two checkpoints.

    values: measure the error of values of any types; metadata and documents are not compared.
    tensors: with --values: only tensors that match GLOB.
    follow_links: also read small files through links that leave the folder; config, tokenizer and others.
    top: show the N differences that are worst.
    fail_if: exit 1 if a tensor or the total passes a limit, like total.rmse>0.01; names the tensors; may repeat; < <=
        > >=, and these metrics: rmse (root of the mean squared difference), relative (rmse / root mean square of A),
        sqnr (10 log10(squares of A / squared differences), in dB), cosine (cosine of the angle between A and B), max
        (largest difference), saturated (share of values with the first or last code of their type), flushed (blocks
        that became all zeros), nonfinite (values that are NaN or Inf, of both sides).
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"values": values, "tensors": tensors, "follow_links": follow_links, "top": top,
        "fail_if": fail_if, "threads": threads, "memory": memory, "limit_rate": limit_rate, **more}
    return _api.diff(a, b, progress, options)


def report(paths: Paths, *others: Path, progress: ProgressCall | None = None, against: Path | None = None,
        imatrix: Path | None = None, eval: Path | None = None, out: Path | None = None, open: bool = False,
        force: bool = False, follow_links: bool = False, threads: int | None = None,
        memory: str | float | None = None, limit_rate: str | float | None = None,
        **more: OptionValue) -> results.Report:
    """Returns the data of a report; with `out` also writes its page.

    against: the checkpoint that they were made from; compares the values.
    imatrix: importance matrix (GGUF or .dat): tokens that each expert saw.
    eval: figures of an evaluation, JSON or CSV, shown unchanged; docs/REPORT.md.
    out: the page (default: report.html; with --json none).
    open: open the page in the browser, with xdg-open.
    force: replace an older report.
    follow_links: also read small files through links that leave the folder; config, tokenizer and others.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"against": against, "imatrix": imatrix, "eval": eval, "out": out, "open": open,
        "force": force, "follow_links": follow_links, "threads": threads, "memory": memory, "limit_rate": limit_rate,
        **more}
    return _api.report(paths, others, progress, options)


def imatrix(what: str, files: Paths, *others: Path, progress: ProgressCall | None = None, tensors: bool = False,
        out: Path | None = None, chunk_size: int | None = None, with_: Literal["ones", "mean"] | None = None,
        min_count: int | None = None, force: bool = False, threads: int | None = None,
        memory: str | float | None = None, limit_rate: str | float | None = None,
        **more: OptionValue) -> results.Imatrices:
    """Shows, merges or fills importance matrices.

    tensors: show: tensors without experts too.
    out: merge, fill: the file to write, GGUF, or legacy if it ends in .dat.
    chunk_size: merge: tokens of a chunk (default: the files'; 512 where all are .dat).
    with_: fill: statistics of an expert without any (default: ones); mean: of those that have some.
    min_count: fill: also experts that saw fewer than N inputs (default: 1).
    force: merge, fill: replace an older importance matrix.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"tensors": tensors, "out": out, "chunk_size": chunk_size, "with_": with_,
        "min_count": min_count, "force": force, "threads": threads, "memory": memory, "limit_rate": limit_rate,
        **more}
    return _api.imatrix(what, files, others, progress, options)


def verify(path: Path, *, progress: ProgressCall | None = None, unpack: Path | None = None,
        signature: Path | None = None, public_key: Path | None = None, certificate: Path | None = None,
        ca: Path | None = None, ignore: Path | Sequence[Path] | None = None, threads: int | None = None,
        memory: str | float | None = None, limit_rate: str | float | None = None,
        **more: OptionValue) -> results.Verification:
    """Checks structure, hashes and signature.

    unpack: new or empty folder for the contents of an archive; its sums must match.
    signature: a model signature; default: PATH/model.sig.
    public_key: PEM of the key that signed.
    certificate: PEM of the signer's certificate, or of one that issued it; not with --public-key.
    ca: PEM of authorities that the chain must lead to; not with --public-key.
    ignore: relative path that may exist without being listed; or a folder (may repeat).
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"unpack": unpack, "signature": signature, "public_key": public_key,
        "certificate": certificate, "ca": ca, "ignore": ignore, "threads": threads, "memory": memory,
        "limit_rate": limit_rate, **more}
    return _api.verify(path, progress, options)


def publish(path: Path, to: str | Sequence[str] | None = None, *, progress: ProgressCall | None = None,
        sign: Path | None = None, certificate: Path | None = None, password_file: Path | None = None,
        lfs: Path | None = None, archive: Path | None = None,
        as_: Literal["modelpack", "image", "ollama"] | None = None, force: bool = False, unsigned: bool = False,
        dry_run: bool = False, source: Path | Sequence[Path] | None = None, recipe: Path | None = None,
        made_by: str | None = None, provenance: bool = False, time: bool = False, card: Path | None = None,
        report: bool = False, rehash: bool = False, threads: int | None = None, memory: str | float | None = None,
        limit_rate: str | float | None = None, **more: OptionValue) -> results.Publication:
    """Writes SHA256SUMS, and on request a signature, an archive and provenance.

    sign: PEM of a private EC key: writes model.sig.
    certificate: PEM of the signer's certificate, then its issuers'.
    password_file: file with the private key's password.
    lfs: new folder for git-LFS pointers and the small files.
    archive: FILE.tar.zst with the entire folder; equal folders give equal bytes.
    to: then send it to hf://, oci://, ollama: or s3://; hf://ORG/NAME, oci://HOST/NAME:TAG, ollama:NAME[:TAG],
        s3://BUCKET/PREFIX (may repeat).
    as_: form of the artifact for --to oci://; default: modelpack; one of modelpack, image, ollama.
    force: replace an existing archive or target; publish damaged or incomplete weights.
    unsigned: remove model.sig where there is one; not with --sign.
    dry_run: show what would be published and written; hash and write nothing.
    source: source of PATH, for provenance.json (may repeat).
    recipe: the recipe it was made with, for provenance.json.
    made_by: the command it was made with, for provenance.json.
    provenance: write provenance.json in any case.
    time: record the time in provenance.json (not reproducible).
    card: put a block with types and hashes into this model card; FILE.md, or - for stdout.
    report: write the page of ckpt report to PATH/report.html.
    rehash: read every file, also those hashed while converting.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"sign": sign, "certificate": certificate, "password_file": password_file,
        "lfs": lfs, "archive": archive, "to": to, "as_": as_, "force": force, "unsigned": unsigned,
        "dry_run": dry_run, "source": source, "recipe": recipe, "made_by": made_by, "provenance": provenance,
        "time": time, "card": card, "report": report, "rehash": rehash, "threads": threads, "memory": memory,
        "limit_rate": limit_rate, **more}
    return _api.publish(path, progress, options)


def list(what: str = "", *, progress: ProgressCall | None = None, all: bool = False, threads: int | None = None,
        memory: str | float | None = None, limit_rate: str | float | None = None,
        **more: OptionValue) -> Sequence[Object]:
    """Returns formats, types, steps, families, checks, profiles, options or commands.

    all: types: also those that tensors are stored as.
    threads: cores to use (default: all); environment: CKPT_THREADS.
    memory: memory for buffers (default: 512M); environment: CKPT_MEMORY.
    limit_rate: bytes per second from and to URLs, in total (default: no limit); environment: CKPT_LIMIT_RATE.
    """
    options: dict[str, OptionValue] = {"all": all, "threads": threads, "memory": memory, "limit_rate": limit_rate,
        **more}
    return _api.list(what, progress, options)
