#!/usr/bin/env python3
"""Counts the tests against other programs that ran, and names what was missing, at the end of `./test.sh`.

usage: summary.py BUILD [CODE]      CODE: of `./test.sh full`, what tests/interop/run.sh exited with

The tests are CTest's with the label peer; the runs are those whose presets write BUILD/tests.xml, with CODE also
those of BUILD/tests-full.xml.
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


def results(build, pattern):
    """{test: None where it ran, else what was missing}"""
    found = {}
    for path in sorted(pathlib.Path(build).glob(pattern)):
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            said = re.search("peer missing: (.*)", case.findtext("system-out") or "")
            missing = said.group(1) if said else "see its output"
            found[case.get("name")] = missing if case.find("skipped") is not None else None
    return found


build, *full = sys.argv[1:]
names, found = list(peers(build)), results(build, "tests*.xml" if full else "tests.xml")
if full:
    names.append("interop/run.sh")
    found["interop/run.sh"] = None if full == ["0"] else "llama.cpp's converter and transformers"
unstarted = "not started" if full else "./test.sh full"
missing = [f"{name} ({found.get(name, unstarted)})" for name in names if found.get(name, unstarted) is not None]
print(f"interop: {len(names) - len(missing)} of {len(names)} ran" + ("; missing: " + ", ".join(missing) if missing else ""))
