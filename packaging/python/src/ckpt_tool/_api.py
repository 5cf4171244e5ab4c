"""What the functions of _functions.py do: run the program and read its objects."""
from __future__ import annotations

import builtins
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _results as results
from ._process import Object, OptionValue, Path, ProgressCall, Said, run
from ._results import read
from ._tensors import StoredTensor, Tensors

Progressing = Optional[ProgressCall]
Options = Dict[str, OptionValue]


def _files(said: Said) -> List[results.OutputFile]:
    return [read(results.OutputFile, one) for one in said.of("file") if "sha256" in one]


def _several(paths: Path | Sequence[Path]) -> List[Path]:
    return [paths] if isinstance(paths, (str, os.PathLike)) else [*paths]


def version() -> results.Version:
    """The version of ckpt, and the vector instructions in use."""
    return read(results.Version, run("version", [], {}).one("version"))


def show(path: Path, progress: Progressing, options: Options) -> results.Checkpoint:
    said = run("show", [path], options, progress)
    one, metadata = dict(said.one("checkpoint")), said.all("metadata", results.Metadata)
    one["types"] = {name: read(results.TypeShare, share) for name, share in one["types"].items()}
    return read(results.Checkpoint, {
        **one, "tensor_list": said.all("tensor", results.Tensor), "metadata_list": metadata,
        "metadata": {each.key: each.value for each in metadata}, "groups": said.all("group", results.Group),
        "quantization": said.last("quantization", results.Quantization)})


def tensors(path: Path, pattern: str = "*", *, follow_links: bool = False) -> Tensors:
    """Returns the tensors of a checkpoint whose names match `pattern`. Each has a name, a shape and a type. Its
    values() and raw() are NumPy arrays, memory-mapped if possible."""
    shown = show(path, None, {"tensors": pattern, "follow_links": follow_links}).tensor_list
    return Tensors([StoredTensor(os.fspath(path), one) for one in shown])


def get(path: Path, *keys: str, follow_links: bool = False) -> Any:
    """Returns a value of GGUF metadata, or of a JSON document in a folder ("hidden_size",
    "generation_config.json:top_k"). With several keys or none it returns a dictionary."""
    said = run("get", [path, *keys], {"follow_links": follow_links})
    found = {one["key"]: one["value"] for one in said.of("metadata")}
    return found[keys[0]] if len(keys) == 1 and keys[0] in found else found


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def set(path: Path, *edits: Union[str, Mapping[str, Any]], remove: Union[str, Sequence[str]] = (),
        out: Optional[Path] = None, dry_run: bool = False, follow_links: bool = False) -> results.Patched:
    """Sets values of GGUF metadata, or of JSON documents of a folder: set(path, "key=value", ...), set(path, "key", value)
    or set(path, {"key": value}). In a dictionary None removes the key."""
    words: List[str] = []
    removed = [remove] if isinstance(remove, str) else [*remove]
    if len(edits) == 2 and isinstance(edits[0], str) and "=" not in edits[0] and not isinstance(edits[1], Mapping):
        edits = ({edits[0]: edits[1]},)
    for edit in edits:
        if isinstance(edit, str):
            words.append(edit)
            continue
        words += [f"{key}={_spelled(value)}" for key, value in edit.items() if value is not None]
        removed += [key for key, value in edit.items() if value is None]
    return _patched(run("set", [path, *words], {
        "remove": removed, "out": out, "dry_run": dry_run, "follow_links": follow_links}))


def plan(source: Path, out: Path, progress: Progressing, options: Options) -> results.Conversion:
    return convert(source, out, progress, {**options, "dry_run": True})


def _conversion(said: Said) -> results.Conversion:
    said.one("summary", "share", "plan-file")
    chosen = said.of("chosen_types")
    return results.Conversion(
        ok=said.ok, outputs=said.all("summary", results.Summary), files=_files(said),
        plan=said.all("plan", results.PlannedTensor), verdicts=said.all("verdict", results.Verdict), notes=said.notes,
        share=said.last("share", results.Share), plan_file=said.last("plan-file", results.PlanFile),
        space=said.all("space", results.Space), moved=said.all("moved", results.Moved),
        rounded=said.all("rounded", results.Rounded), merged=said.all("merged", results.Merged),
        chosen_types=chosen[-1] if chosen else None)


def convert(source: Path, out: Path, progress: Progressing, options: Options) -> results.Conversion:
    return _conversion(run("convert", [source, out], options, progress))


def execute(plan: Path, progress: Progressing, options: Options) -> results.Conversion:
    return _conversion(run("execute", [plan], options, progress))


def patch(path: Path, steps: Sequence[str], progress: Progressing, options: Options) -> results.Patched:
    given = options.get("step")
    own = [given] if isinstance(given, str) else [*given] if isinstance(given, (builtins.list, tuple)) else []
    return _patched(run("patch", [path], {**options, "step": [*own, *steps]}, progress))


def _patched(said: Said) -> results.Patched:
    return read(results.Patched, {**said.one("summary"), "files": _files(said), "notes": said.notes,
                                  "plan": said.all("plan", results.PlannedFile),
                                  "changes": said.all("change", results.Change)})


def doctor(path: Path, progress: Progressing, options: Options) -> results.Diagnosis:
    said = run("doctor", [path], options, progress)
    summary, statistics = said.one("summary"), said.all("statistics", results.Statistics)
    verdicts = said.all("verdict", results.Verdict)
    return read(results.Diagnosis, {
        **summary, "ok": summary["good"] and all(each.fits for each in statistics), "notes": said.notes,
        "verdicts": verdicts, "checked": all(each.weights_checked for each in verdicts),
        "findings": said.all("check", results.Finding), "next": said.last("next", results.Next),
        "serve": said.all("serve", results.Serve), "statistics": statistics,
        "plan": said.all("plan", results.PlannedFile), "files": said.all("file", results.FixedFile)})


def diff(a: Path, b: Path, progress: Progressing, options: Options) -> results.Comparison:
    said = run("diff", [a, b], options, progress)
    if said.ok:
        said.one("summary", "total")
    differences, gates = said.all("difference", results.Difference), said.all("gate", results.Gate)
    total, summaries = said.last("total", results.Values), said.of("summary")
    same = total.same and not differences if total else bool(summaries) and bool(summaries[-1]["same"])
    # Gates ask about values; what could not be compared counts as a gate that failed.
    is_gated = bool(options.get("fail_if"))
    passed = not gates and all(each.kind == "bytes" for each in differences)
    return read(results.Comparison, {
        "a": str(a), "b": str(b), **(summaries[-1] if summaries else {}), "same": same,
        "notes": [*said.notes, *said.errors()], "ok": said.ok and (passed if is_gated else same), "differences": differences,
        "values": said.all("values", results.Values), "total": total, "gates": gates})


def report(reported: Path | Sequence[Path], others: Sequence[Path], progress: Progressing,
           options: Options) -> results.Report:
    said = run("report", [*_several(reported), *others], options, progress)
    return read(results.Report, {**said.one("report"), "notes": said.notes})


def imatrix(what: str, files: Path | Sequence[Path], others: Sequence[Path], progress: Progressing,
            options: Options) -> results.Imatrices:
    said = run("imatrix", [what, *_several(files), *others], options, progress)
    said.one("imatrix", "file")
    return results.Imatrices(
        shown=said.all("imatrix", results.Imatrix), tensors=said.all("imatrix-tensor", results.ImatrixTensor),
        files=_files(said), notes=said.notes)


def verify(path: Path, progress: Progressing, options: Options) -> results.Verification:
    said = run("verify", [path], options, progress)
    summary = said.one("summary")
    return read(results.Verification, {**summary, "ok": summary["sound"], "notes": said.notes,
                                       "checks": said.all("check", results.Check)})


def publish(path: Path, progress: Progressing, options: Options) -> results.Publication:
    said = run("publish", [path], options, progress)
    said.one("file", "publish")
    return results.Publication(
        files=_files(said), notes=said.notes, plan=said.all("publish", results.PublishedFile),
        placements=said.all("placement", results.Placement), sent=said.all("sent", results.Sent))


def list(what: str, progress: Progressing, options: Options) -> Sequence[Object]:
    return run("list", [what] if what else [], options, progress).objects
