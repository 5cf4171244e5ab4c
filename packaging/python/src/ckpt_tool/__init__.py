"""ckpt from Python: each function runs the program once and returns its results as dataclasses.

    import ckpt_tool
    done = ckpt_tool.convert("qat-checkpoint", "out", to="nvfp4")
    assert ckpt_tool.verify("out").sound

Every command-line option is a keyword argument with _ for -: `shard_size="5GB"`. Pass True for a flag and a list for a
repeated option. A name that is a Python keyword takes a trailing _ (`for_="vllm"`). `help(ckpt_tool.convert)` explains them;
the program checks names and values.

A failed run raises CkptError with the program's message. A negative answer (the checkpoints differ, the folder is not
sound) is a result: check `ok`. `progress` is called with a Progress about ten times a second, in the calling thread. Ctrl-C
ends the program too; finished work is kept, and the same call resumes it.
"""
from ._api import get, set, tensors, version  # noqa: A004
from ._functions import (convert, diff, doctor, execute, imatrix, list, patch, plan, publish, report, show,  # noqa: A004
                         verify)
from ._process import CkptError, Progress, find_binary
from ._results import (Change, Check, Checkpoint, Comparison, Conversion, Diagnosis, Difference, Finding, FixedFile, Gate,
                       Group, Imatrices, Imatrix, ImatrixTensor, Merged, Metadata, Moved, Next, OutputFile, Patched, Placement,
                       PlanFile, PlannedFile, PlannedTensor, Publication, PublishedFile, Quantization, Report, Rounded, Sent,
                       Serve, Share, Space, Statistics, Summary, Tensor, TypeShare, Values, Verdict, Verification, Version)
from ._tensors import StoredTensor, Tensors

# __all__ omits `list` and `set`, because `from ckpt_tool import *` would replace Python's.
__all__ = ["Change", "Check", "Checkpoint", "CkptError", "Comparison", "Conversion", "Diagnosis", "Difference", "Finding",
           "FixedFile", "Gate", "Group", "Imatrices", "Imatrix", "ImatrixTensor", "Merged", "Metadata", "Moved", "Next",
           "OutputFile", "Patched", "Placement", "PlanFile", "PlannedFile", "PlannedTensor", "Progress", "Publication",
           "PublishedFile", "Quantization", "Report", "Rounded", "Sent", "Serve", "Share", "Space", "Statistics", "Summary",
           "StoredTensor", "Tensor", "Tensors", "TypeShare", "Values", "Verdict", "Verification", "Version", "convert", "diff",
           "doctor", "execute", "find_binary", "get", "imatrix", "patch", "plan", "publish", "report", "show", "tensors",
           "verify", "version"]
