#!/usr/bin/env python3
"""A quota that is used up (EDQUOT) and a file larger than may be (EFBIG), at the first and at a later
write of each command: one sentence that says so and names a file, and nothing under a final name.

usage: quotas.py CKPT SHIM TESTDATA
"""
import pathlib
import sys
import tempfile

from faults import Runner
from scenarios import all_scenarios

SCENARIOS = ("convert_gguf", "convert_shards", "patch_growth", "publish", "publish_archive", "plan_out", "execute_share")
SAID = {"EDQUOT": "this user's disk quota is used up", "EFBIG": "exceeds the file size limit"}


def main():
    binary, shim, testdata = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    tried, bad = 0, []
    for scenario in all_scenarios(testdata, binary):
        if scenario.name not in SCENARIOS:
            continue
        with tempfile.TemporaryDirectory() as base:
            runner = Runner(binary, shim, scenario, pathlib.Path(base))
            runner.count()
            for kind in ("write", "fallocate"):
                for name, sentence in SAID.items():
                    for at in ("1+", "3+"):
                        runner.start()
                        code, text = runner.run(f"{kind}:{at}:{name}")
                        tried += 1
                        problem = ""
                        if code == 2:
                            lines = [line for line in text.splitlines() if line.startswith("ckpt: ")]
                            problem = "" if len(lines) == 1 and sentence in lines[0] else text
                        elif code != 0 or (kind == "write" and at == "1+"):
                            problem = f"exit {code}: {text}"
                        problem = problem or runner.judge(code, text, name, kind)
                        if problem:
                            bad.append(f"{scenario.name} {kind}:{at}:{name}: {problem.strip()}")
    print("\n".join(bad))
    print(f"{tried} runs, {len(bad)} wrong")
    return 1 if bad or tried < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
