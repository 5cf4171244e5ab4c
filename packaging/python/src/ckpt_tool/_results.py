"""The program's results, as docs/JSON.md defines them; fields added by later versions are ignored."""
from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Mapping, Type, TypeVar

T = TypeVar("T")


def read(kind: Type[T], one: Mapping[str, Any]) -> T:
    """Builds a `kind` from the fields that the object has; the others keep their defaults."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{key: value for key, value in one.items() if key in names})


@dataclass(frozen=True)
class Version:
    version: str
    commit: str
    date: str
    machine: str
    simd: str
    static: bool


@dataclass(frozen=True)
class OutputFile:
    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class TypeShare:
    tensors: int
    size_bytes: int


@dataclass(frozen=True)
class Tensor:
    name: str
    shape: list[int]     # outermost first
    tensor_type: str
    algorithm: str
    size_bytes: int
    file: str


@dataclass(frozen=True)
class Checkpoint:
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


@dataclass(frozen=True)
class PlannedTensor:
    out: str
    tensor: str
    source: str
    shape: list[int]
    from_: str
    to: str
    source_bytes: int
    size_bytes: int
    bits_per_weight: float


@dataclass(frozen=True)
class Summary:
    """One output of a conversion."""
    out: str
    dry_run: bool
    tensors: int
    files: int
    read_bytes: int = 0
    written_bytes: int = 0
    seconds: float = 0.0
    size_bytes: int = 0                 # of files; of a dry run
    source_tensor_bytes: int = 0        # these too
    tensor_bytes: int = 0
    source_bits_per_weight: float = 0.0
    bits_per_weight: float = 0.0


@dataclass(frozen=True)
class Verdict:
    profile: str
    loads: bool
    sound: bool
    weights_checked: bool
    not_checked: str = ""
    out: str = ""


@dataclass(frozen=True)
class Share:
    share: str                          # "3/8"
    written_bytes: int
    missing: list[int]                  # shares that are not done
    complete: bool


@dataclass(frozen=True)
class Conversion:
    ok: bool                            # False: a server named with for_ will not load the output, or not correctly
    outputs: list[Summary]
    files: list[OutputFile]
    plan: list[PlannedTensor]           # of a dry run
    verdicts: list[Verdict]
    notes: list[str]
    share: Share | None = None          # of execute(part=...), unless it completed the plan


@dataclass(frozen=True)
class PlannedFile:
    file: str
    change: str                         # written, header, shifted, rewritten, removed
    new: bool
    written_bytes: int


@dataclass(frozen=True)
class Patched:
    path: str
    dry_run: bool
    plan: list[PlannedFile]
    files: list[OutputFile]
    read_bytes: int
    written_bytes: int
    seconds: float
    notes: list[str]


@dataclass(frozen=True)
class Finding:
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


@dataclass(frozen=True)
class Next:
    fix: str                            # one command that applies all steps, or empty
    steps: list[str]
    left: list[str]


@dataclass(frozen=True)
class Serve:
    profile: str
    command: str


@dataclass(frozen=True)
class _Answer:
    """A yes (`ok`) or a no about a path."""
    path: str
    ok: bool
    notes: list[str]


@dataclass(frozen=True)
class Diagnosis(_Answer):
    good: bool
    verdicts: list[Verdict]
    findings: list[Finding]
    next: Next | None
    serve: list[Serve]


@dataclass(frozen=True)
class Difference:
    what: str
    kind: str                           # tensor, shape, type, bytes, metadata, document
    detail: str


@dataclass(frozen=True)
class Values:
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


@dataclass(frozen=True)
class Gate:
    gate: str
    tensor: str
    metric: str
    value: float | None
    passed: bool


@dataclass(frozen=True)
class Comparison:
    a: str
    b: str
    ok: bool                            # same; or, with fail_if, all gates passed
    same: bool
    differences: list[Difference]
    values: list[Values]
    total: Values | None
    gates: list[Gate]                   # those that failed
    notes: list[str]


@dataclass(frozen=True)
class Check:
    what: str
    ok: bool
    found: str


@dataclass(frozen=True)
class Verification(_Answer):
    sound: bool
    verdict: str
    checks: list[Check]
    not_covered: list[str]


@dataclass(frozen=True)
class Publication:
    files: list[OutputFile]
    notes: list[str]


@dataclass(frozen=True)
class Report:
    """The data of a report; docs/REPORT.md describes its sections."""
    version: str
    checkpoints: list[dict[str, Any]]
    against: dict[str, Any] | None
    notes: list[str]


@dataclass(frozen=True)
class Imatrix:
    file: str
    kind: str                           # gguf or legacy
    chunks: int | None
    chunk_size: int | None              # tokens
    datasets: list[str]
    tensors: int
    experts: int
    unseen: int
    filled: int


@dataclass(frozen=True)
class ImatrixTensor:
    name: str
    columns: int
    counts: list[int] | int             # inputs seen: of each expert, or of all together
    unseen: list[int]                   # experts that saw none


@dataclass(frozen=True)
class Imatrices:
    shown: list[Imatrix]                # by show
    tensors: list[ImatrixTensor]
    files: list[OutputFile]             # by merge and fill
    notes: list[str]
