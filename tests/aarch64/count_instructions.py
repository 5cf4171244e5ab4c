"""Instructions per weight of the Arm encoders, counted under qemu-user.

Usage: count_instructions.py QEMU ENCODE_ONCE [TYPE ...]

qemu writes every block of instructions it translates and every block it runs. A run with 128 blocks
is taken from a run with 256; what remains is the work on 128 blocks of 256 weights. The scalar twin,
compiled by the same compiler, is counted the same way. Instructions are not time: divisions count as
one, and so do all vector operations.
"""
import os
import re
import subprocess
import sys
import tempfile

RUN = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")
INSTRUCTION = re.compile(r"^0x([0-9a-f]+):")


def count(qemu, program, type_name, target, blocks):
    """Instructions that one run executes."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        subprocess.run([qemu, "-d", "in_asm,exec,nochain", "-D", log, program, type_name, target,
                        str(blocks)], check=True)
        lengths, total, first = {}, 0, None
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("IN:"):
                    first = ""
                    continue
                found = INSTRUCTION.match(line)
                if found:
                    if first == "":
                        first = int(found.group(1), 16)
                        lengths[first] = 0
                    lengths[first] += 1
                    continue
                found = RUN.match(line)
                if found:
                    total += lengths[int(found.group(1), 16)]
        return total


def main():
    qemu, program, types = sys.argv[1], sys.argv[2], sys.argv[3:] or ["q4_k", "q5_k", "q6_k"]
    print("instructions per weight   neon  scalar  ratio")
    for type_name in types:
        rates = []
        for target in ("neon", "scalar"):
            work = (count(qemu, program, type_name, target, 256)
                    - count(qemu, program, type_name, target, 128))
            rates.append(work / (128 * 256))
        print(f"{type_name:22} {rates[0]:8.1f} {rates[1]:7.1f} {rates[1] / rates[0]:6.2f}")


if __name__ == "__main__":
    main()
