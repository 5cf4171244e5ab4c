#!/usr/bin/env python3
"""Checks the manifest that `ckpt plan split --print k8s` prints against the schemas of the Kubernetes API, 1.25 and each
later release that kubernetes-validate (PyPI) has, strictly: an unknown field is an error. It reads the manifest as
Kubernetes does: arguments, with "$(NAME)" replaced, must name the plan and every share.

usage: kubernetes.py CKPT TESTDATA FOLDER     installs into FOLDER; exits 77, saying "peer missing", where it cannot
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

CKPT, TESTDATA, PEERS = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["plain", "with space", "of $HOME", "$(JOB_COMPLETION_INDEX)", "$$(X) 'a' \"b\" \\ # - é", "{a}, [b] & *c", "yes"]


def python():
    folder = (PEERS / "kubernetes").resolve()
    if subprocess.run([HERE / "python_packages.sh", folder, HERE / "packages/kubernetes.txt"], capture_output=True).returncode != 0:
        print("peer missing: kubernetes-validate (pip cannot install it)")
        sys.exit(77)
    return folder / "bin/python"


def expanded(text, variables):
    """Arguments as a kubelet reads them: "$$" is "$", "$(NAME)" the value of a known variable."""
    return re.sub(r"\$\$|\$\((\w+)\)", lambda m: "$" if m[0] == "$$" else variables.get(m[1], m[0]), text)


def check(manifest, plan, parts):
    import kubernetes_validate
    import yaml
    from kubernetes_validate.utils import all_versions
    shares, last = yaml.safe_load_all(manifest)
    releases = [r for r in sorted(set(all_versions())) if tuple(map(int, r.split(".")[:2])) >= (1, 25)]
    for release in releases:
        for job in (shares, last):
            kubernetes_validate.validate(job, release, strict=True)
    assert shares["spec"]["completions"] == parts and last["spec"]["suspend"] is True
    said = []
    for job, index in [(shares, i) for i in range(parts)] + [(last, 0)]:
        pod = job["spec"]["template"]["spec"]
        args = [expanded(word, {"JOB_COMPLETION_INDEX": str(index)}) for word in pod["containers"][0]["args"]]
        said.append(args[:4])
        # The API server refuses a policy otherwise; the schema does not say so.
        failed, lost = job["spec"]["podFailurePolicy"]["rules"]
        assert pod["restartPolicy"] == "Never" and failed["onExitCodes"]["containerName"] == pod["containers"][0]["name"]
        assert (failed["action"], failed["onExitCodes"]["values"], lost["action"]) == ("FailJob", [2], "Ignore")
        mount = pod["containers"][0]["volumeMounts"][0]["mountPath"]
        assert plan.startswith(mount + "/"), (mount, plan)
    expected = [["execute", plan, "--index", index] for index in [*(f"{i}/{parts}" for i in range(parts)), "0/1"]]
    assert said == expected, (said, expected)
    return len(releases)


def main():
    if len(sys.argv) > 4:
        for line in sys.stdin:
            plan, manifest = json.loads(line)
            releases = check(manifest, plan, 3)
        print(f"{releases} releases of the API take the manifest")
        return
    manifests = []
    with tempfile.TemporaryDirectory() as name:
        for each in NAMES:
            folder = pathlib.Path(name) / each
            folder.mkdir()
            subprocess.run([CKPT, "convert", TESTDATA / "qwen3-micro", "out", "--plan-out", "plan.json", "-q"], cwd=folder, check=True,
                           capture_output=True)
            # The model lies elsewhere than the plan: one volume would have to hold both.
            plan = json.loads((folder / "plan.json").read_text())
            plan["convert"]["in"] = str(folder / "m")
            for one in plan["inputs"]:
                one["path"] = one["path"].replace(str(TESTDATA), str(folder))
            (folder / "plan.json").write_text(json.dumps(plan))
            done = subprocess.run([CKPT, "plan", "split", "plan.json", "--parts", "3", "--print", "k8s"], cwd=folder, check=True,
                                  capture_output=True, text=True)
            manifests.append(json.dumps([str(folder / "plan.json"), done.stdout]))
    checked = subprocess.run([python(), __file__, *sys.argv[1:], "check"], input="\n".join(manifests), text=True)
    sys.exit(checked.returncode)


if __name__ == "__main__":
    main()
