"""What the fault tests run: small conversions, patches and publications.

A scenario makes a folder, runs one command in it and says which files belong together. Files of a
group change all or not at all; files of no group stay as they are. `lasting` are names that
interrupted work may leave; the same command, run again, takes them away.
"""
import json
import pathlib
import re
import shutil
import struct
import subprocess

LEFT = re.compile(r"(^|/)[^/]*\.partial(\.ledger[^/]*)?($|/)|(^|/)\.[^/]*ckpt-[^/]*($|/)|\.replaced($|/)")


def safetensors(tensors, metadata=None, spaces=0):
    """Tensors of 4 x 8 BF16 values, each filled with one byte."""
    header, data = {"__metadata__": metadata or {"format": "pt"}}, b""
    for name, fill in tensors:
        header[name] = {"dtype": "BF16", "shape": [4, 8], "data_offsets": [len(data), len(data) + 64]}
        data += bytes([fill]) * 64
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8 + spaces)
    return struct.pack("<Q", len(text)) + text + data


def small_folder(folder, spaces=0):
    folder.mkdir()
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    (folder / one).write_bytes(safetensors([("model.b.weight", 1), ("model.a.weight", 2)], spaces=spaces))
    (folder / two).write_bytes(safetensors([("lm_head.weight", 3)], spaces=spaces))
    index = {"metadata": {"total_size": 192}, "weight_map": {
        "model.a.weight": one, "model.b.weight": one, "lm_head.weight": two}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text('{\n    "eps": 1e-06,\n    "layers": 2\n}\n')
    (folder / "notes.txt").write_text("not ours")
    (folder / "SHA256SUMS").write_text("".join(f"{'0' * 64}  {path.name}\n" for path in sorted(folder.iterdir())))


class Scenario:
    """`argv` follows the binary; `groups`: names or folders that change together; `begin` goes
    before each run of it, in the copied folder, for what knows the inodes of files."""

    def __init__(self, name, prepare, argv, groups, reads_only=False, ignored=(), check=None, begin=None):
        self.name, self.prepare, self.argv, self.groups = name, prepare, argv, groups
        self.reads_only, self.ignored, self.check, self.begin = reads_only, ignored, check, begin

    @property
    def refuses_done(self):
        return self.argv[0] in ("convert", "execute") or any(word in self.argv for word in ("--lfs", "--archive", "--out", "--unpack"))

    def group_of(self, path):
        for number, names in enumerate(self.groups):
            if any(path == n or path.startswith(n + "/") for n in names):
                return number
        return None


def snapshot(folder):
    """Content by relative path; folders and links are named as such."""
    out = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            out[name] = f"-> {path.readlink()}"
        elif path.is_dir():
            out[name] = "folder"
        else:
            out[name] = path.read_bytes()
    return out


def is_left(name):
    return LEFT.search(name) is not None


def all_scenarios(testdata, binary):
    def copy(*names):
        def prepare(folder):
            for name in names:
                shutil.copytree(testdata / name, folder / pathlib.Path(name).name)
        return prepare

    def small(spaces=0):
        return lambda folder: small_folder(folder / "m", spaces)

    def gguf(folder):
        shutil.copy(testdata / "formats/good/gguf/types.gguf", folder / "m.gguf")

    def imatrix(folder):
        shutil.copy(testdata / "formats/good/imatrix/imatrix.gguf", folder / "i.gguf")

    def two_models(folder):
        small_folder(folder / "m")
        small_folder(folder / "n")
        shutil.copytree(testdata / "formats/good/folders/saved_in_shards", folder / "out")

    def key(folder):
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                        folder / "key.pem"], check=True)
        subprocess.run(["openssl", "ec", "-in", folder / "key.pem", "-pubout", "-out", folder / "public.pem"],
                       check=True, capture_output=True)

    def to_publish(folder):
        small_folder(folder / "m")
        (folder / "m/sub").mkdir()
        (folder / "m/sub/more.txt").write_text("more")
        key(folder)

    def published(folder):
        to_publish(folder)
        subprocess.run([binary, "publish", folder / "m", "--sign", folder / "key.pem", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)

    def archived(folder):
        to_publish(folder)
        subprocess.run([binary, "publish", folder / "m", "--archive", folder / "m.tar.zst", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)

    def signed(folder):
        return subprocess.run([binary, "verify", folder / "m", "--public-key", folder / "public.pem", "--quiet"],
                              capture_output=True).returncode == 0

    def to_execute(folder):
        small_folder(folder / "m")
        (folder / "plan.json").write_text("rebuilt before each run")

    def run_in(folder, *words):
        subprocess.run([binary, *words, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def planned(folder):
        (folder / "plan.json").unlink()
        run_in(folder, "convert", "m", "out", "--shard-size", "100", "--plan-out", "plan.json")

    def half_executed(folder):
        planned(folder)
        run_in(folder, "execute", "plan.json", "--part", "2/2")

    micro = ["qwen3-micro", "--to", "q4_k_m", "--tokenizer-pre", "qwen2"]
    rename = ["--step", "rename:from=model.,to=m."]
    longer = ["--step", "rename:from=model.,to=language." + "x" * 300 + "."]
    return [
        Scenario("convert_gguf", copy("qwen3-micro"), ["convert", micro[0], "out.gguf", *micro[1:]], [["out.gguf"]]),
        Scenario("convert_split", copy("qwen3-micro"),
                 ["convert", micro[0], "out.gguf", *micro[1:], "--split-size", "1M"],
                 [[f"out-0000{i}-of-0000{n}.gguf"] for n in (2, 3, 4) for i in range(1, n + 1)]),
        Scenario("convert_nvfp4", copy("export/qat-checkpoint"),
                 ["convert", "qat-checkpoint", "out", "--to", "nvfp4"], [["out"]]),
        Scenario("convert_also", copy("qwen3-micro"),
                 ["convert", "qwen3-micro", "a.gguf", "--to", "q8_0", "--tokenizer-pre", "qwen2",
                  "--also", "b.gguf=q4_k_m"], [["a.gguf"], ["b.gguf"]]),
        Scenario("convert_adapter", copy("llama-micro", "lora/rslora"),
                 ["convert", "llama-micro", "out", "--step", "lora:from=rslora"], [["out"]]),
        Scenario("convert_shards", small(), ["convert", "m", "out", "--shard-size", "100"], [["out"]]),
        Scenario("plan_out", small(), ["convert", "m", "out", "--plan-out", "plan.json"], [["plan.json"]],
                 ignored=("plan.json",)),
        Scenario("execute", to_execute, ["execute", "plan.json"], [["out"]], ignored=("plan.json",), begin=planned),
        Scenario("execute_share", to_execute, ["execute", "plan.json", "--part", "1/2"], [["out"]],
                 ignored=("plan.json",), begin=half_executed),
        # No other share's ledger says whose the temporary files are.
        Scenario("execute_lone_share", to_execute, ["execute", "plan.json", "--part", "1/1"], [["out"]],
                 ignored=("plan.json",), begin=planned),
        Scenario("imatrix_merge", imatrix, ["imatrix", "merge", "i.gguf", "--out", "o.gguf"], [["o.gguf"]]),
        Scenario("convert_force", two_models, ["convert", "m", "out", "--force"], [["out"]]),
        Scenario("patch_document", small(), ["patch", "m", "--step", "config:set=layers=3"], [["m"]]),
        Scenario("patch_headers", small(512), ["patch", "m", *rename], [["m"]]),
        Scenario("patch_growth", small(), ["patch", "m", *longer], [["m"]]),
        Scenario("patch_drop", small(), ["patch", "m", "--step", "drop:tensors=lm_head.*"], [["m"]]),
        Scenario("patch_out", small(512), ["patch", "m", *rename, "--out", "out"], [["out"]]),
        Scenario("patch_gguf", gguf,
                 ["patch", "m.gguf", "--step", "metadata:set=general.name=" + "long " * 300], [["m.gguf"]]),
        Scenario("doctor_fix", copy("qwen35-micro"),
                 ["doctor", "qwen35-micro", "--for", "vllm-0.17", "--fix"], [["qwen35-micro"]]),
        Scenario("publish", to_publish,
                 ["publish", "m", "--sign", "key.pem", "--lfs", "lfs", "--provenance", "--card", "card.md"],
                 [["m/SHA256SUMS"], ["m/provenance.json"], ["m/model.sig"], ["card.md"], ["lfs"]],
                 ignored=("m/model.sig", "lfs/model.sig", "card.md"), check=signed),
        Scenario("publish_archive", to_publish, ["publish", "m", "--archive", "m.tar.zst"],
                 [["m/SHA256SUMS"], ["m.tar.zst"]]),
        Scenario("unpack", archived, ["verify", "m.tar.zst", "--unpack", "out"], [["out"]]),
        Scenario("publish_again", published, ["publish", "m", "--rehash"], [["m/SHA256SUMS"]],
                 ignored=("m/model.sig",)),
        Scenario("verify", published, ["verify", "m", "--public-key", "public.pem"], [], reads_only=True,
                 ignored=("m/model.sig",)),
        Scenario("show", copy("formats/good/folders/saved_in_shards"), ["show", "saved_in_shards"], [],
                 reads_only=True),
        Scenario("diff", lambda f: (small_folder(f / "m"), small_folder(f / "n")), ["diff", "m", "n"], [],
                 reads_only=True),
    ]
