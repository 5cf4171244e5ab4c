"""ckpt from Python: each function runs the program once and gives what it said as dataclasses.

    import ckpt
    done = ckpt.convert("qat-checkpoint", "out", to="nvfp4")
    assert ckpt.verify("out").sound

An option is a keyword argument under its name on the command line, with _ for -: `shard_size="5GB"`. True stands
for a flag, a list for an option that is given several times, and a name that is a word of Python takes a _ at its end
(`for_="vllm"`). What an option means, and whether there is one, the program says (`ckpt help convert`).

A run that cannot be done raises CkptError with the program's sentence. An answer that is no (it differs, it is not sound)
is a result: ask `ok`. `progress` is called with a Progress some ten times a second, in the thread that called. Ctrl-C ends
the program too; what convert had finished is kept, and the same call goes on there.
"""
from ._api import convert, diff, doctor, patch, publish, show, verify, version
from ._process import CkptError, Progress, find_binary
from ._results import (Check, Checkpoint, Comparison, Conversion, Diagnosis, Difference, Finding, Gate, Next, OutputFile,
                       Patched, PlannedFile, PlannedTensor, Publication, Serve, Summary, Tensor, TypeShare, Values, Verdict,
                       Verification, Version)

__all__ = ["Check", "Checkpoint", "CkptError", "Comparison", "Conversion", "Diagnosis", "Difference", "Finding", "Gate",
           "Next", "OutputFile", "Patched", "PlannedFile", "PlannedTensor", "Progress", "Publication", "Serve", "Summary",
           "Tensor", "TypeShare", "Values", "Verdict", "Verification", "Version", "convert", "diff", "doctor", "find_binary",
           "patch", "publish", "show", "verify", "version"]
