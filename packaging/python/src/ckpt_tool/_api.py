"""What the functions of _functions.py do: run the program and read its objects."""
from __future__ import annotations

import os
from typing import Dict, List, Optional, Sequence

from . import _results as results
from ._process import Object, OptionValue, Path, ProgressCall, Said, run
from ._results import read

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


def patch(path: Path, progress: Progressing, options: Options) -> results.Patched:
    said = run("patch", [path], options, progress)
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


def report(reported: Path | Sequence[Path], progress: Progressing, options: Options) -> results.Report:
    said = run("report", _several(reported), options, progress)
    return read(results.Report, {**said.one("report"), "notes": said.notes})


def imatrix(what: str, files: Path | Sequence[Path], progress: Progressing, options: Options) -> results.Imatrices:
    said = run("imatrix", [what, *_several(files)], options, progress)
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
