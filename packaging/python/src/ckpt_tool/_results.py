"""The program's results, as docs/JSON.md defines them; fields added by later versions are ignored."""
from __future__ import annotations

import html
import keyword
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, Iterator, Mapping, Type, TypeVar

T = TypeVar("T")


def read(kind: Type[T], one: Mapping[str, Any]) -> T:
    """Builds a `kind` from the fields that the object has; the others keep their defaults. "from" becomes from_."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    named = {key + "_" if keyword.iskeyword(key) else key: value for key, value in one.items()}
    return kind(**{key: value for key, value in named.items() if key in names})


_MOST_SHOWN = 4     # a longer list is shown as its number of items
_MOST_ROWS = 50      # rows of a table in a notebook


def _told(result: Any) -> Iterator[tuple[str, Any]]:
    """Yields the fields that are neither empty nor at their default."""
    for each in fields(result):
        value = getattr(result, each.name)
        is_default = each.default is not MISSING and value == each.default
        if not is_default and value not in (None, "", [], {}):
            yield each.name, value


def _brief(value: Any) -> str:
    if isinstance(value, list) and len(value) > _MOST_SHOWN:
        kinds = {type(one).__name__ for one in value}
        return f"[{len(value)} {kinds.pop() if len(kinds) == 1 else 'items'}]"
    if isinstance(value, list):
        return f"[{', '.join(map(_brief, value))}]"
    if isinstance(value, dict) and len(value) > _MOST_SHOWN:
        return f"{{{len(value)} items}}"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value)
    return text if len(text) <= 100 or is_dataclass(value) else f"{text[:97]}..."


def _cell(value: Any) -> str:
    """HTML of a value. A list of results becomes a table."""
    if isinstance(value, list) and value and is_dataclass(value[0]):
        names = [name for name in (each.name for each in fields(value[0])) if any(dict(_told(one)).get(name) for one in value)]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        rows = "".join("<tr>" + "".join(f"<td>{_cell(getattr(one, name))}</td>" for name in names) + "</tr>"
                       for one in value[:_MOST_ROWS])
        more = f"<p>and {len(value) - _MOST_ROWS} more</p>" if len(value) > _MOST_ROWS else ""
        return f"<table><tr>{head}</tr>{rows}</table>{more}"
    if is_dataclass(value):
        rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{_cell(each)}</td></tr>" for name, each in _told(value))
        return f"<table>{rows}</table>"
    if isinstance(value, list):
        return "<br>".join(map(_cell, value[:_MOST_ROWS]))
    return html.escape(value if isinstance(value, str) else _brief(value))


class Result:
    """Base of all results: a frozen dataclass that prints its fields briefly and is a table in a notebook."""

    def __repr__(self) -> str:
        said = [f"{name}={_brief(value)}" for name, value in _told(self)]
        line = f"{type(self).__name__}({', '.join(said)})"
        if len(line) <= 100:
            return line
        inner = "".join("\n    " + one.replace("\n", "\n    ") + "," for one in said)
        return f"{type(self).__name__}({inner}\n)"

    def _repr_html_(self) -> str:
        return f"<b>{type(self).__name__}</b>{_cell(self)}"


@dataclass(frozen=True, repr=False)
class Version(Result):
    version: str
    commit: str
    date: str
    machine: str
    simd: str
    static: bool


@dataclass(frozen=True, repr=False)
class OutputFile(Result):
    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, repr=False)
class TypeShare(Result):
    tensors: int
    size_bytes: int


@dataclass(frozen=True, repr=False)
class Tensor(Result):
    name: str
    shape: list[int]     # outermost first
    tensor_type: str
    algorithm: str
    size_bytes: int
    file: str
    parts: list[dict[str, Any]] = field(default_factory=list)   # path, offset_bytes and size_bytes of its bytes


@dataclass(frozen=True, repr=False)
class Metadata(Result):
    key: str
    value_type: str
    value: Any
    file: str = ""       # of a folder of safetensors


@dataclass(frozen=True, repr=False)
class Quantization(Result):
    """What a checkpoint with quantized weights, or one that declares them, says of itself."""
    stated: str
    producer: str
    kv_cache: str
    disagreements: list[str]


@dataclass(frozen=True, repr=False)
class Group(Result):
    """Weights that are quantized alike."""
    algorithm: str
    layers: int
    vectors: int
    names: list[str]


@dataclass(frozen=True, repr=False)
class Checkpoint(Result):
    path: str
    format: str
    name: str
    architecture: str
    tensors: int
    values: int
    size_bytes: int
    types: dict[str, TypeShare]
    documents: list[str]
    metadata_keys: int
    tensor_list: list[Tensor] = field(default_factory=list)     # with tensors=True or a glob
    metadata: dict[str, Any] = field(default_factory=dict)      # with metadata=True
    metadata_list: list[Metadata] = field(default_factory=list)     # the same, with types and files
    quantization: Quantization | None = None
    groups: list[Group] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class PlannedTensor(Result):
    out: str
    tensor: str
    source: str
    shape: list[int]
    from_: str
    to: str
    source_bytes: int
    size_bytes: int
    bits_per_weight: float
    moved_blocks: int = 0               # of MXFP4: those that keep their values
    second_error: float | None = None   # as of Rounded


@dataclass(frozen=True, repr=False)
class Summary(Result):
    """One output of a conversion."""
    out: str
    dry_run: bool
    tensors: int
    files: int
    read_bytes: int = 0
    written_bytes: int = 0
    seconds: float = 0.0
    bound_by_hash_of: str = ""          # the file whose SHA-256 took nearly all of it
    size_bytes: int = 0                 # of files; of a dry run
    source_tensor_bytes: int = 0        # these too
    tensor_bytes: int = 0
    source_bits_per_weight: float = 0.0
    bits_per_weight: float = 0.0
    moved_tensors: int = 0              # moved to another format without rounding
    moved_blocks: int = 0
    up_to_date: bool = False            # with if_needed: nothing was to be done


@dataclass(frozen=True, repr=False)
class Space(Result):
    """A folder that outputs go into; of a dry run."""
    folder: str
    needed_bytes: int
    free_bytes: int


@dataclass(frozen=True, repr=False)
class Moved(Result):
    out: str
    tensor: str
    moved_blocks: int


@dataclass(frozen=True, repr=False)
class Rounded(Result):
    """A weight that was quantized before: how far its values moved."""
    out: str
    tensor: str
    second_error: float


@dataclass(frozen=True, repr=False)
class Merged(Result):
    """A weight that adapters were merged into."""
    out: str
    tensor: str
    tensor_type: str
    kept: float
    below_rounding: bool


@dataclass(frozen=True, repr=False)
class PlanFile(Result):
    path: str
    digest: str
    files: int
    size_bytes: int


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    profile: str
    loads: bool
    sound: bool | None                  # None: it does not load
    weights_checked: bool
    not_checked: str = ""
    out: str = ""
    note: str = ""                      # on the release whose facts answer
    fix: str = ""                       # only from doctor(): the command for this program
    left: list[str] = field(default_factory=list)     # checks that would still fail after `fix`


@dataclass(frozen=True, repr=False)
class Share(Result):
    share: str                          # "3/8"
    written_bytes: int
    missing: list[int]                  # shares that are not done
    complete: bool


@dataclass(frozen=True, repr=False)
class Conversion(Result):
    ok: bool                            # False: a server named with for_ will not load the output, or not correctly
    outputs: list[Summary]
    files: list[OutputFile]
    plan: list[PlannedTensor]           # of a dry run
    verdicts: list[Verdict]
    notes: list[str]
    share: Share | None = None          # of execute(part=...), unless it completed the plan
    plan_file: PlanFile | None = None   # of plan_out
    space: list[Space] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    rounded: list[Rounded] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)
    chosen_types: dict[str, Any] | None = None      # with target_size or target_bits


@dataclass(frozen=True, repr=False)
class PlannedFile(Result):
    file: str
    change: str                         # written, header, shifted, rewritten, removed
    new: bool
    written_bytes: int


@dataclass(frozen=True, repr=False)
class Change(Result):
    """A value of metadata or of a JSON document; None where there is none."""
    key: str
    before: Any
    after: Any
    file: str = ""
    value_type: str = ""


@dataclass(frozen=True, repr=False)
class Patched(Result):
    path: str
    dry_run: bool
    plan: list[PlannedFile]
    files: list[OutputFile]
    read_bytes: int
    written_bytes: int
    seconds: float
    notes: list[str]
    changes: list[Change] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Finding(Result):
    """A check of the doctor that did not say yes."""
    check: str
    profile: str
    severity: str                       # info, warning, unsound, unloaded
    place: str
    found: str
    symptom: str
    mend: str                           # a command line, or empty
    step: str
    needs: str
    advice: str
    rewrites_weights: bool
    fix: bool


@dataclass(frozen=True, repr=False)
class Next(Result):
    fix: str                            # one command that applies all steps, or empty
    steps: list[str]
    left: list[str]


@dataclass(frozen=True, repr=False)
class Serve(Result):
    profile: str
    command: str


@dataclass(frozen=True, repr=False)
class Statistics(Result):
    """Whether an importance matrix or second moments are of a model."""
    file: str
    fits: bool
    tensors: int
    wrong: list[str]
    unknown: list[str]
    missing: list[str]
    experts: int
    unseen: int


@dataclass(frozen=True, repr=False)
class FixedFile(Result):
    path: str
    change: str


@dataclass(frozen=True, repr=False)
class _Answer(Result):
    """A yes (`ok`) or a no about a path."""
    path: str
    ok: bool
    notes: list[str]


@dataclass(frozen=True, repr=False)
class Diagnosis(_Answer):
    good: bool
    checked: bool                       # False: some verdicts are not about everything (exit code 3 if good)
    verdicts: list[Verdict]
    findings: list[Finding]
    next: Next | None
    serve: list[Serve]
    statistics: list[Statistics]        # of imatrix and moments
    plan: list[PlannedFile]             # of fix with dry_run
    files: list[FixedFile]              # of fix


@dataclass(frozen=True, repr=False)
class Difference(Result):
    what: str
    kind: str                           # tensor, shape, type, bytes, metadata, document
    detail: str
    keys: list[str] = field(default_factory=list)   # that differ, of a JSON document


@dataclass(frozen=True, repr=False)
class Values(Result):
    """How far values are apart; None is infinite."""
    values: int                         # pairs of finite ones
    same: bool
    rmse: float | None
    relative: float | None
    sqnr_db: float | None
    cosine: float | None
    max: float | None
    tensor: str = ""                    # empty: of all tensors together
    type_a: str = ""
    type_b: str = ""
    tensors: int = 1
    a: dict[str, Any] = field(default_factory=dict)     # of each side: nonfinite, saturated, blocks, flushed_blocks
    b: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Gate(Result):
    gate: str
    tensor: str
    metric: str
    value: float | None
    passed: bool


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    a: str
    b: str
    ok: bool                            # same; or, with fail_if, all gates passed
    same: bool
    differences: list[Difference]
    values: list[Values]
    total: Values | None
    gates: list[Gate]                   # those that failed
    notes: list[str]
    compared_tensors: int = 0           # by their bytes


@dataclass(frozen=True, repr=False)
class Check(Result):
    what: str
    ok: bool
    found: str


@dataclass(frozen=True, repr=False)
class Verification(_Answer):
    sound: bool
    verdict: str
    checks: list[Check]
    not_covered: list[str]


@dataclass(frozen=True, repr=False)
class PublishedFile(Result):
    """Of a dry run."""
    path: str
    size_bytes: int | None              # None: not yet written
    change: str                         # published, written


@dataclass(frozen=True, repr=False)
class Placement(Result):
    """A file at a target, of a dry run."""
    target: str
    file: str                           # empty for what ckpt makes
    place: str
    size_bytes: int


@dataclass(frozen=True, repr=False)
class Sent(Result):
    target: str
    address: str
    digest: str                         # of an artifact's manifest, or empty
    sent_files: int
    sent_bytes: int
    present_files: int                  # that were there already


@dataclass(frozen=True, repr=False)
class Publication(Result):
    files: list[OutputFile]
    notes: list[str]
    plan: list[PublishedFile] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Report(Result):
    """The data of a report; docs/REPORT.md describes its sections."""
    version: str
    checkpoints: list[dict[str, Any]]
    against: dict[str, Any] | None
    notes: list[str]


@dataclass(frozen=True, repr=False)
class Imatrix(Result):
    file: str
    kind: str                           # gguf or legacy
    chunks: int | None
    chunk_size: int | None              # tokens
    datasets: list[str]
    tensors: int
    experts: int
    unseen: int
    filled: int
    other_keys: list[str]               # of a GGUF, that are not part of an importance matrix
    other_tensors: list[str]


@dataclass(frozen=True, repr=False)
class ImatrixTensor(Result):
    name: str
    columns: int
    counts: list[int] | int             # inputs seen: of each expert, or of all together
    unseen: list[int]                   # experts that saw none


@dataclass(frozen=True, repr=False)
class Imatrices(Result):
    shown: list[Imatrix]                # by show
    tensors: list[ImatrixTensor]
    files: list[OutputFile]             # by merge and fill
    notes: list[str]
