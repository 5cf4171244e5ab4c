"""Types what ckpt advises in the command lines of tests/cli (advice.py), where it advised it.

noting_advice.cc is $ckpt of those scripts under `tests/cli/run.py --try-advice`. It runs the program, passes on what it prints
and, where there is advice in that, asks the listener of run.py to try it in a copy of the folder that the script is in, and
waits: a Python for each piece of advice would take most of the tests' time.
"""
import os
import pathlib
import shlex
import threading


class Run:
    def __init__(self, ckpt, environment):
        self.ckpt, self.environment, self.counts = ckpt, environment, {"lines": 0, "advice": 0}


def problems_of(printed, ckpt):
    """What is wrong with the advice of one call, of which noting_advice wrote PRINTED.out and .err, and writes .words and .env."""
    import advice   # with all that it imports for the scripts alone that print advice

    words = [word.decode(errors="surrogateescape") for word in pathlib.Path(printed + ".words").read_bytes().split(b"\0")[:-1]]
    variables = pathlib.Path(printed + ".env").read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
    text = "".join(pathlib.Path(printed + stream).read_text(errors="replace") for stream in (".out", ".err"))
    line, folder = shlex.join(["ckpt", *words[1:]]), words[0]
    run = Run(ckpt, dict(variable.split("=", 1) for variable in variables))
    return [f"advice of: {line}\n    {problem}" for problem in advice.problems(run, line, text, folder)]


class Listener:
    """Answers the calls of one script; `folder` is for the pipes, and `variables` are what the script needs."""

    def __init__(self, ckpt, folder):
        self.ckpt, self.problems, self.answered = ckpt, [], []
        self.variables = {"REAL_CKPT": str(ckpt), "ADVICE_LOG": str(folder / "call"), "ADVICE_ASK": str(folder / "ask")}
        os.mkfifo(folder / "ask")
        self.asked = open(os.open(folder / "ask", os.O_RDWR), "r+b", buffering=0)   # both ends: no call is the last
        self.thread = threading.Thread(target=self.listen, daemon=True)

    def listen(self):
        pending = b""
        while True:
            *calls, pending = (pending + self.asked.read(4096)).split(b"\n")
            for printed in map(os.fsdecode, calls):
                if not printed:
                    return
                try:
                    self.problems += problems_of(printed, self.ckpt)
                except Exception as error:   # the script waits for an answer
                    self.problems.append(f"{printed}: {error!r}")
                self.answered.append(os.open(printed + ".done", os.O_RDWR))   # open until the script has read it
                os.write(self.answered[-1], b"\n")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.asked.write(b"\n")
        self.thread.join(60)
        if self.thread.is_alive():   # a call was killed while it asked
            self.problems.append("a call asked for its advice to be tried, and did not say which")
            return
        for descriptor in (*self.answered, self.asked):
            os.close(descriptor) if isinstance(descriptor, int) else descriptor.close()
