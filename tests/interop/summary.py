#!/usr/bin/env python3
"""Counts the tests against other programs that ran, and names what was missing, at the end of `./test.sh full`.

usage: summary.py BUILD CODE      CODE: what tests/interop/run.sh exited with

The tests are CTest's with the label peer; the runs are those whose presets write BUILD/tests*.xml.
"""
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree


def peers(build):
    shown = json.loads(subprocess.check_output(["ctest", "--test-dir", build, "--show-only=json-v1"]))
    for test in shown["tests"]:
        labels = [p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"]
        if labels and "peer" in labels[0]:
            yield test["name"]


def results(build):
    """{test: None where it ran, else what was missing}"""
    found = {}
    for path in sorted(pathlib.Path(build).glob("tests*.xml")):
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            said = re.search("peer missing: (.*)", case.findtext("system-out") or "")
            missing = said.group(1) if said else "see its output"
            found[case.get("name")] = missing if case.find("skipped") is not None else None
    return found


build, code = sys.argv[1], int(sys.argv[2])
found = results(build) | {"interop/run.sh": None if code == 0 else "llama.cpp's converter and transformers"}
names = list(peers(build)) + ["interop/run.sh"]
missing = [f"{name} ({found.get(name, 'not started')})" for name in names if found.get(name, "not started") is not None]
print(f"interop: {len(names) - len(missing)} of {len(names)} ran" + ("; missing: " + ", ".join(missing) if missing else ""))
