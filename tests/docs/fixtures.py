"""What the names in the documents stand for: small checkpoints of testdata, keys, an importance matrix.

A name is made when a line reads it and no line before has written it. What a page says about a name ("a QAT checkpoint")
is true of the fixture too.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TESTDATA = ROOT / "testdata"
# Options of every verb whose value is something that the line makes.
WRITES = {"--also", "--mmproj", "--plan-out", "--archive", "--lfs", "--unpack", "--out"}


def environment(ckpt, folder, variables=os.environ):
    """`variables` with PATH with `ckpt` alone in front, and a home that is the scratch folder."""
    bin_folder = pathlib.Path(str(folder) + ".bin")
    bin_folder.mkdir(exist_ok=True)
    link = bin_folder / "ckpt"
    if not link.is_symlink():
        link.symlink_to(ckpt)
    env = dict(variables, PATH=f"{bin_folder}:{variables['PATH']}", LC_ALL="C.UTF-8", TZ="UTC", HOME=str(folder))
    env.pop("NO_COLOR", None)
    return env


# ---- what each name is ----

class Maker:
    def __init__(self, ckpt, folder):
        self.ckpt, self.folder = ckpt, folder

    def run(self, *words):
        done = subprocess.run(words, cwd=self.folder, env=environment(self.ckpt, self.folder), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"fixture: {shlex.join(words)}: {done.stderr}")
        return done.stdout

    def copy(self, source, name):
        shutil.copytree(TESTDATA / source, self.folder / name)

    def convert(self, source, name, *options):
        self.run("ckpt", "convert", "-q", str(TESTDATA / source), name, *options)

    def trainer_checkpoint(self, name):
        self.copy("qwen3-micro", name)
        for file in ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin"):
            (self.folder / name / file).write_bytes(b"PK\x03\x04 not read")
        (self.folder / name / "trainer_state.json").write_text("{}")

    def accelerate_checkpoint(self, name):
        self.copy("trainers/dcp-tp-fsdp/ckpt", f"{name}/pytorch_model_fsdp_0")

    def importance_matrix(self, name):
        tensors = [json.loads(line) for line in self.run("ckpt", "show", self.make("bf16.gguf"), "--tensors", "--json").splitlines()]
        weights = [t for t in tensors if t.get("name", "").endswith(".weight") and len(t.get("shape", ())) >= 2]
        (self.folder / name).write_bytes(imatrix_bytes({t["name"]: t["shape"][-1] for t in weights}))

    def key(self, name):
        private = name.removesuffix(".pub").removesuffix(".pem") + ".pem"
        if not (self.folder / private).exists():
            self.run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private)
        if name.endswith(".pub"):
            self.run("openssl", "ec", "-in", private, "-pubout", "-out", name)

    def published(self, name):
        self.convert("qwen3-micro", name, "--to", "nvfp4-w4a16")
        self.run("ckpt", "publish", "-q", name, "--sign", self.make("release.pem"))

    def archive(self, name):
        self.published("archived")
        self.run("ckpt", "publish", "-q", "archived", "--archive", name)

    def two_like(self, name, *options):
        self.convert("qwen3-micro", name, *options)

    def make(self, name):
        if not (self.folder / name).exists():
            MAKERS[name](self, name)
        return name


def moments_file(maker, name):
    """Second moments of some layers of qwen3-micro: safetensors, all zero but in shape as docs/SEARCH.md says."""
    header, end = {}, 0
    for module, runs in (("self_attn.k_proj", 2), ("mlp.up_proj", 2), ("mlp.down_proj", 4)):
        size = 4 * runs * 128 * 128
        header[f"model.layers.0.{module}.input_moments"] = {"dtype": "F32", "shape": [runs, 128, 128],
                                                            "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    (maker.folder / name).write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


def imatrix_bytes(columns):
    """A GGUF importance matrix (docs/formats/imatrix.md): the same for every column but the first."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()
    keys = [text("general.type") + struct.pack("<I", 8) + text("imatrix"),
            text("imatrix.datasets") + struct.pack("<IIQ", 9, 8, 1) + text("prose.txt"),
            text("imatrix.chunk_count") + struct.pack("<II", 4, 8), text("imatrix.chunk_size") + struct.pack("<II", 4, 512)]
    infos, data = b"", b""
    for name, count in columns.items():
        for suffix, values in ((".in_sum2", [4.0] + [2.0] * (count - 1)), (".counts", [8.0])):
            infos += text(name + suffix) + struct.pack("<IQQIQ", 2, len(values), 1, 0, len(data))
            data += struct.pack(f"<{len(values)}f", *values)
            data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2 * len(columns), len(keys)) + b"".join(keys) + infos
    return head + bytes(-len(head) % 32) + data


def copy_of(source):
    return lambda maker, name: maker.copy(source, name)


def conversion_of(source, *options):
    return lambda maker, name: maker.convert(source, name, *options)


def plan(maker, name):
    maker.copy("qwen3-micro", "planned-from")
    maker.run("ckpt", "convert", "planned-from", "planned", "--to", "nvfp4-w4a16", "--plan-out", name)


def plan_of_models(maker, name):
    maker.run("ckpt", "convert", maker.make("models/base"), "models/base-nvfp4", "--to", "nvfp4-w4a16", "--plan-out", name)


def recipe(maker, name):
    """The one that docs/RECIPES.md shows, and what it reads."""
    page = (ROOT / "docs/RECIPES.md").read_text(encoding="utf-8")
    (maker.folder / name).write_text(re.search(r"```json\n(.*?)```", page, re.S)[1])
    maker.make("qwen3.5-9b")
    maker.copy("qwen35vl-micro", "base")
    shapes = {"mtp.fc.weight": [256, 512], "mtp.norm.weight": [256], "mtp.pre_fc_norm_embedding.weight": [256],
              "mtp.pre_fc_norm_hidden.weight": [256]}
    layer = {"input_layernorm": [256], "post_attention_layernorm": [256], "self_attn.q_norm": [64], "self_attn.k_norm": [64],
             "self_attn.q_proj": [512, 256], "self_attn.k_proj": [128, 256], "self_attn.v_proj": [128, 256],
             "self_attn.o_proj": [256, 256], "mlp.gate_proj": [512, 256], "mlp.up_proj": [512, 256], "mlp.down_proj": [256, 512]}
    shapes.update({f"mtp.layers.0.{name}.weight": shape for name, shape in layer.items()})
    (maker.folder / "base/model-mtp.safetensors").write_bytes(safetensors_bytes(shapes))
    maker.run("ckpt", "patch", "base", "--step", "reindex")


def safetensors_bytes(shapes):
    """Tensors of BF16 ones."""
    header, data = {}, b""
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + 2 * count]}
        data += b"\x80\x3f" * count
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def edited(maker, name, document, **changes):
    path = maker.folder / name / document
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}, indent=2) + "\n")


def gptq_folder(maker, name):
    """qwen3-micro whose linear layers are GPTQ of 4 bits in groups of 32: codes that count up, scales of 1/512."""
    maker.copy("qwen3-micro", name)
    path = maker.folder / name / "model.safetensors"
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for tensor, entry in json.loads(data[8:8 + size]).items():
        if tensor == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if not tensor.endswith("_proj.weight"):
            tensors[tensor] = (entry["dtype"], entry["shape"], data[8 + size + begin:8 + size + end])
            continue
        outputs, inputs = entry["shape"]
        groups, stem = inputs // 32, tensor.removesuffix("weight")
        tensors[stem + "qweight"] = ("I32", [inputs // 8, outputs], bytes(i % 251 for i in range(outputs * inputs // 2)))
        tensors[stem + "qzeros"] = ("I32", [groups, outputs // 8], b"\x77" * (groups * outputs // 2))
        tensors[stem + "scales"] = ("F16", [groups, outputs], b"\x00\x18" * (groups * outputs))
    header, at = {}, 0
    for tensor, (dtype, shape, raw) in tensors.items():
        header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(raw)]}
        at += len(raw)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(raw for _, _, raw in tensors.values()))
    edited(maker, name, "config.json", quantization_config={"quant_method": "gptq", "bits": 4, "group_size": 32})


def tokenizers_backend(maker, name):
    """What transformers 5 writes for a model that it has no tokenizer class of."""
    maker.copy("qwen3-micro", name)
    edited(maker, name, "tokenizer_config.json", tokenizer_class="TokenizersBackend")


def wrapped_by_hand(maker, name):
    """A text model whose config.json alone was changed to its wrapper's names."""
    maker.copy("qwen35-micro", name)
    edited(maker, name, "config.json", model_type="qwen3_5", architectures=["Qwen3_5ForConditionalGeneration"])


def unknown_class(maker, name):
    """A model of a class without a table, whose parameters are those of a class with a table."""
    maker.copy("qwen3-micro", name)
    edited(maker, name, "config.json", model_type="mystery", architectures=["MysteryForCausalLM"])


MAKERS = {
    "Mystery-4B": unknown_class,
    "testdata/qwen35-micro": copy_of("qwen35-micro"),
    "testdata/export/qat-checkpoint": copy_of("export/qat-checkpoint"),
    "gpt-oss-20b": copy_of("families/gpt-oss-mxfp4/hf"),
    "deepseek-v3": copy_of("export/deepseek-v3-nano"),
    "deepseek-v4": copy_of("packed/methods/fp8-deepseek-v4"),
    "qwen3.5-moe": copy_of("qwen35moe-micro"),
    "kimi-k2": copy_of("families/kimi-int4/hf"),
    "Qwen3-VL-4B": copy_of("families/qwen3-vl/hf"),
    "Qwen3.5-9B": copy_of("qwen35vl-micro"),
    "qwen3.5-9b": copy_of("qwen35vl-micro"),
    "checkpoint-162": Maker.trainer_checkpoint,
    "amax.json": lambda maker, name: shutil.copy(TESTDATA / "export/collect_amax/qwen3-micro.json", maker.folder / name),
    "recipe.yaml": lambda maker, name: shutil.copy(
        TESTDATA / "export/recipes/experts_nvfp4-attention_fp8_blocks.yaml", maker.folder / name),
    "qat-checkpoint": copy_of("export/qat-checkpoint"),
    "bf16": copy_of("qwen3-micro"),
    "moments.safetensors": moments_file,
    "base": copy_of("qwen35-micro"),
    "model": copy_of("qwen35-micro"),
    "bf16.gguf": conversion_of("qwen35-micro"),
    "model-bf16.gguf": conversion_of("qwen35-micro"),
    "model.gguf": conversion_of("qwen35-micro", "--to", "q4_k_m"),
    "chat.jinja": lambda maker, name: (maker.folder / name).write_text("{{ messages }}"),
    "a.gguf": conversion_of("qwen35-micro"),
    "b.gguf": conversion_of("qwen35-micro"),
    "q4.gguf": conversion_of("qwen35-micro", "--to", "q4_k_m"),
    "q6.gguf": conversion_of("qwen35-micro", "--to", "q6_k"),
    "served": conversion_of("qwen35vl-micro", "--to", "nvfp4-w4a16"),
    "before": copy_of("qwen3-micro"),
    "after": copy_of("qwen3-micro"),
    "imatrix.gguf": Maker.importance_matrix,
    "kld_results.csv": lambda maker, name: shutil.copy(TESTDATA / "sensitivity/kld_results.csv", maker.folder / name),
    "prose.gguf": Maker.importance_matrix,
    "code.dat": lambda maker, name: maker.run("ckpt", "imatrix", "merge", "-q", maker.make("prose.gguf"), "-o", name),
    "Qwen3.5-9B-NVFP4": conversion_of("qwen35vl-micro", "--to", "nvfp4-w4a16"),
    "qwen3.5-9b-nvfp4": conversion_of("qwen35-micro", "--to", "nvfp4-w4a16"),
    "release.pem": Maker.key,
    "release.pub": Maker.key,
    "out": Maker.published,
    "out.tar.zst": Maker.archive,
    "plan.json": plan,
    "models/plan.json": plan_of_models,
    "mixed": copy_of("nvfp4/qwen35-micro-mixed"),
    "awq": copy_of("mixed/qwen35-micro-awq-lite"),
    "awq-base": copy_of("qwen35-micro"),
    "gptq": gptq_folder,
    "tokenizers-backend": tokenizers_backend,
    "wrapped-by-hand": wrapped_by_hand,
    "vl-folder": copy_of("qwen35vl-micro"),
    "models/base": copy_of("qwen3-micro"),
    "llama": copy_of("llama-micro"),
    "llama-fp4": conversion_of("llama-micro", "--to", "nvfp4-w4a16"),
    "llama-q4_k_m.gguf": conversion_of("llama-micro", "--to", "q4_k_m"),
    "adapter": copy_of("lora/rslora"),
    "second-adapter": copy_of("lora/conventions/mlx"),
    "recipe.json": recipe,
    "dcp": copy_of("trainers/dcp-tp-fsdp/ckpt"),
    "titan": copy_of("trainers/dcp-titan/ckpt"),
    "run/checkpoint-1": Maker.accelerate_checkpoint,
    "shards": copy_of("trainers/hf-plain/ckpt"),
    "megatron": copy_of("trainers/mcore-legacy-tp2/ckpt"),
    "lora-run": copy_of("trainers/dcp-lora/ckpt"),
    "verl": copy_of("trainers/ranks-tp-fsdp/ckpt"),
    "zero": copy_of("trainers/ds-z3-frozen/ckpt"),
}


# ---- which names a block needs ----

def value_options(ckpt, verb, cache={}):
    """The options of `ckpt VERB` that take a value."""
    if verb not in cache:
        text = subprocess.run([ckpt, "help", verb], capture_output=True, text=True).stdout
        lines = re.findall(r"^  (-\S+(?:, -\S+)*) (?=\S)", text, re.M)
        cache[verb] = {name for names in lines for name in names.split(", ") if name.startswith("--")}
    return cache[verb]


def reads_and_writes(ckpt, line):
    """Names that a line reads, and those that it makes."""
    try:
        words = shlex.split(line.replace("&&", ";").split(";")[0], comments=True)
    except ValueError:
        return [], []
    if len(words) < 2 or words[0] != "ckpt":
        return [], []
    verb, positionals, reads, writes, option = words[1], [], [], [], None
    takes_value = value_options(ckpt, verb)
    for word in words[2:]:
        if option is not None or "=" in word and word.startswith("--"):
            name, value = (option, word) if option is not None else word.split("=", 1)
            option = None
            (writes if name in WRITES else reads).extend([value.split("=")[0]] if name == "--also" else re.split(r"[=:,]", value))
        elif word in takes_value:
            option = word
        elif not word.startswith("-"):
            positionals.append(word)
    reads += positionals[:1] if verb == "convert" else [word.split("=@")[-1] for word in positionals]
    writes += positionals[1:2] if verb == "convert" else []
    return [r.rstrip("/") for r in reads], [w.rstrip("/") for w in writes]


def make(ckpt, folder, text):
    """Makes in `folder` what the lines of `text` read and no line before has written."""
    maker, made = Maker(ckpt, folder), set()
    for line in text.replace("\\\n", " ").split("\n"):
        reads, writes = reads_and_writes(ckpt, line.strip().removeprefix("$ "))
        for name in reads:
            if name in MAKERS and name not in made:
                maker.make(name)
        made.update(writes)
