"""The commands as functions."""
from __future__ import annotations

import os
from typing import Any, Union

from . import _results as results
from ._process import OptionValue, ProgressCall, Said, run
from ._results import read

Path = Union[str, "os.PathLike[str]"]


def _files(said: Said) -> list[results.OutputFile]:
    return [read(results.OutputFile, one) for one in said.of("file") if "sha256" in one]


def version() -> results.Version:
    """The version of ckpt, and the vector instructions in use."""
    return read(results.Version, run("version", [], {}).one("version"))


def show(path: Path, *, tensors: bool | str = False, metadata: bool = False, **options: OptionValue) -> results.Checkpoint:
    """Describes a checkpoint; reads headers only. `tensors` may be a glob."""
    said = run("show", [path], {"tensors": tensors, "metadata": metadata, **options})
    one = dict(said.one("checkpoint"))
    one["types"] = {name: read(results.TypeShare, share) for name, share in one["types"].items()}
    shown = {each["key"]: each["value"] for each in said.of("metadata")}
    listed = [read(results.Tensor, each) for each in said.of("tensor")]
    return read(results.Checkpoint, {**one, "tensor_list": listed, "metadata": shown})


def convert(source: Path, out: Path, *, progress: ProgressCall | None = None, **options: OptionValue) -> results.Conversion:
    """Converts `source` to `out`: to="q4_k_m", keep=["*.norm*"], for_="vllm", force=True, dry_run=True ..."""
    said = run("convert", [source, out], options, progress)
    plan: list[dict[str, Any]] = [{**one, "from_": one["from"]} for one in said.of("plan")]
    return results.Conversion(
        ok=said.ok, outputs=[read(results.Summary, one) for one in said.of("summary")], files=_files(said),
        plan=[read(results.PlannedTensor, one) for one in plan],
        verdicts=[read(results.Verdict, one) for one in said.of("verdict")], notes=said.notes)


def patch(path: Path, *, progress: ProgressCall | None = None, **options: OptionValue) -> results.Patched:
    """Edits a checkpoint in place: step=["config:set=a=1", ...], dry_run=True ..."""
    said = run("patch", [path], options, progress)
    return read(results.Patched, {**said.one("summary"), "files": _files(said), "notes": said.notes,
                                  "plan": [read(results.PlannedFile, one) for one in said.of("plan")]})


def doctor(path: Path, *, progress: ProgressCall | None = None, **options: OptionValue) -> results.Diagnosis:
    """Checks whether a checkpoint loads in a program and is sound, and lists fixes: for_=["vllm", "sglang"], deep=True ..."""
    said = run("doctor", [path], options, progress)
    following = said.of("next")
    return read(results.Diagnosis, {
        **said.one("summary"), "verdicts": [read(results.Verdict, one) for one in said.of("verdict")],
        "findings": [read(results.Finding, one) for one in said.of("check")], "notes": said.notes,
        "next": read(results.Next, following[-1]) if following else None,
        "serve": [read(results.Serve, one) for one in said.of("serve")]})


def diff(a: Path, b: Path, *, progress: ProgressCall | None = None, **options: OptionValue) -> results.Comparison:
    """Compares two checkpoints: values=True measures errors, fail_if=["sqnr<18"] for gates ..."""
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


def verify(path: Path, *, progress: ProgressCall | None = None, **options: OptionValue) -> results.Verification:
    """Checks structure, hashes and signature: public_key="release.pub" ..."""
    said = run("verify", [path], options, progress)
    return read(results.Verification, {**said.one("summary"), "notes": said.notes,
                                       "checks": [read(results.Check, one) for one in said.of("check")]})


def publish(path: Path, *, progress: ProgressCall | None = None, **options: OptionValue) -> results.Publication:
    """Writes SHA256SUMS, and on request a signature (sign="release.pem"), an archive and provenance."""
    said = run("publish", [path], options, progress)
    return results.Publication(files=_files(said), notes=said.notes)
