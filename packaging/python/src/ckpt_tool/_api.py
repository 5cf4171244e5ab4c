"""What the functions of _functions.py do: run the program and read its objects."""
from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence

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
    one = dict(said.one("checkpoint"))
    one["types"] = {name: read(results.TypeShare, share) for name, share in one["types"].items()}
    shown = {each["key"]: each["value"] for each in said.of("metadata")}
    listed = [read(results.Tensor, each) for each in said.of("tensor")]
    return read(results.Checkpoint, {**one, "tensor_list": listed, "metadata": shown})


def _conversion(said: Said) -> results.Conversion:
    plan: List[dict[str, Any]] = [{**one, "from_": one["from"]} for one in said.of("plan")]
    shares = said.of("share")
    return results.Conversion(
        ok=said.ok, outputs=[read(results.Summary, one) for one in said.of("summary")], files=_files(said),
        plan=[read(results.PlannedTensor, one) for one in plan],
        verdicts=[read(results.Verdict, one) for one in said.of("verdict")], notes=said.notes,
        share=read(results.Share, shares[-1]) if shares else None)


def convert(source: Path, out: Path, progress: Progressing, options: Options) -> results.Conversion:
    return _conversion(run("convert", [source, out], options, progress))


def execute(plan: Path, progress: Progressing, options: Options) -> results.Conversion:
    return _conversion(run("execute", [plan], options, progress))


def patch(path: Path, progress: Progressing, options: Options) -> results.Patched:
    said = run("patch", [path], options, progress)
    return read(results.Patched, {**said.one("summary"), "files": _files(said), "notes": said.notes,
                                  "plan": [read(results.PlannedFile, one) for one in said.of("plan")]})


def doctor(path: Path, progress: Progressing, options: Options) -> results.Diagnosis:
    said = run("doctor", [path], options, progress)
    following, summary = said.of("next"), said.one("summary")
    return read(results.Diagnosis, {
        **summary, "ok": summary["good"], "verdicts": [read(results.Verdict, one) for one in said.of("verdict")],
        "findings": [read(results.Finding, one) for one in said.of("check")], "notes": said.notes,
        "next": read(results.Next, following[-1]) if following else None,
        "serve": [read(results.Serve, one) for one in said.of("serve")]})


def diff(a: Path, b: Path, progress: Progressing, options: Options) -> results.Comparison:
    said = run("diff", [a, b], options, progress)
    totals = said.of("total")
    same = bool(totals[-1]["same"]) if totals else said.ok
    summary = said.of("summary") or [{"a": str(a), "b": str(b), "same": same}]
    return read(results.Comparison, {
        **summary[-1], "ok": said.ok, "notes": said.notes,
        "differences": [read(results.Difference, one) for one in said.of("difference")],
        "values": [read(results.Values, one) for one in said.of("values")],
        "total": read(results.Values, totals[-1]) if totals else None,
        "gates": [read(results.Gate, one) for one in said.of("gate")]})


def report(reported: Path | Sequence[Path], progress: Progressing, options: Options) -> results.Report:
    said = run("report", _several(reported), options, progress)
    return read(results.Report, {**said.one("report"), "notes": said.notes})


def imatrix(what: str, files: Path | Sequence[Path], progress: Progressing, options: Options) -> results.Imatrices:
    said = run("imatrix", [what, *_several(files)], options, progress)
    return results.Imatrices(
        shown=[read(results.Imatrix, one) for one in said.of("imatrix")],
        tensors=[read(results.ImatrixTensor, one) for one in said.of("imatrix-tensor")], files=_files(said), notes=said.notes)


def verify(path: Path, progress: Progressing, options: Options) -> results.Verification:
    said = run("verify", [path], options, progress)
    summary = said.one("summary")
    return read(results.Verification, {**summary, "ok": summary["sound"], "notes": said.notes,
                                       "checks": [read(results.Check, one) for one in said.of("check")]})


def publish(path: Path, progress: Progressing, options: Options) -> results.Publication:
    said = run("publish", [path], options, progress)
    return results.Publication(files=_files(said), notes=said.notes)


def list(what: str, progress: Progressing, options: Options) -> Sequence[Object]:
    return run("list", [what] if what else [], options, progress).objects
