"""Tensors of a checkpoint as NumPy arrays. NumPy is imported only when values are read."""
from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, Iterator, Sequence, Union, overload

from ._process import CkptError, find_binary
from ._results import Tensor

if TYPE_CHECKING:
    import numpy

# Types that NumPy has, with its names for them.
_PLAIN = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i64": "<i8", "i32": "<i4", "i16": "<i2", "i8": "|i1", "u64": "<u8",
          "u32": "<u4", "u16": "<u2", "u8": "|u1", "bool": "|b1"}


class StoredTensor:
    """A tensor of a checkpoint. Its bytes are read only by raw() and values()."""

    def __init__(self, path: str, described: Tensor) -> None:
        self.path, self._described = path, described
        self.name, self.shape, self.type = described.name, tuple(described.shape), described.tensor_type
        self.algorithm, self.size_bytes, self.file = described.algorithm, described.size_bytes, described.file

    def raw(self) -> "numpy.ndarray[Any, Any]":
        """Returns the stored bytes, memory-mapped if a file holds them in one piece. For a quantized weight of
        several tensors, the codes come first and the scales follow."""
        import numpy
        pieces = [numpy.memmap(one["path"], numpy.uint8, "r", one["offset_bytes"], (one["size_bytes"],))
                  for one in self._described.parts if one["size_bytes"]]
        return pieces[0] if len(pieces) == 1 else numpy.concatenate(pieces) if pieces else numpy.empty(0, numpy.uint8)

    def values(self) -> "numpy.ndarray[Any, Any]":
        """Returns the values, memory-mapped if NumPy has the type, otherwise decoded to float32."""
        import numpy
        if self.type in _PLAIN and sys.byteorder == "little":
            return self.raw().view(_PLAIN[self.type]).reshape(self.shape)
        if self.type == "bf16":
            wide = self.raw().view("<u2").astype(numpy.uint32) << 16
            return wide.view(numpy.float32).reshape(self.shape)
        words = [find_binary(), "get", f"--tensor={self.name}", "--", self.path]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().removeprefix("ckpt: ")
            raise CkptError(said, exit_code=done.returncode)
        return numpy.frombuffer(done.stdout, numpy.float32).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> "numpy.ndarray[Any, Any]":
        values = self.values()
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f"StoredTensor({self.name!r}, [{shape}], {self.type}, {self.size_bytes} bytes)"


class Tensors(Sequence[StoredTensor]):
    """Tensors in the order of the checkpoint. They are found by number or by name."""

    def __init__(self, tensors: list[StoredTensor]) -> None:
        self._all = tensors
        self._by_name = {one.name: one for one in tensors}

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, at: Union[int, str]) -> StoredTensor: ...
    @overload
    def __getitem__(self, at: slice) -> "Tensors": ...

    def __getitem__(self, at: Union[int, str, slice]) -> "StoredTensor | Tensors":
        if isinstance(at, str):
            return self._by_name[at]
        return Tensors(self._all[at]) if isinstance(at, slice) else self._all[at]

    def __contains__(self, one: object) -> bool:
        return one in self._by_name or one in self._all

    def __iter__(self) -> Iterator[StoredTensor]:
        return iter(self._all)

    def keys(self) -> list[str]:
        return [*self._by_name]

    def __repr__(self) -> str:
        lines = [f"  {one!r}" for one in self._all[:20]]
        more = [f"  ... and {len(self) - 20} more"] if len(self) > 20 else []
        return "\n".join([f"Tensors({len(self)})", *lines, *more])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{one.name}</td><td>{[*one.shape]}</td><td>{one.type}</td><td>{one.size_bytes}</td></tr>"
                       for one in self._all[:200])
        return f"<table><tr><th>tensor</th><th>shape</th><th>type</th><th>bytes</th></tr>{rows}</table>"
