"""The package as it is installed; CKPT_TESTDATA names testdata."""
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import textwrap

import pytest

import ckpt_tool as ckpt

TESTDATA = pathlib.Path(os.environ["CKPT_TESTDATA"])
MODEL = TESTDATA / "qwen3-micro"


@pytest.fixture()
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    shutil.rmtree(tmp_path)  # pytest keeps those of three runs, and one holds gigabytes


def test_version_is_that_of_the_program():
    said = subprocess.run([ckpt.find_binary(), "--version"], capture_output=True, text=True, check=True).stdout
    assert said.split()[1] == ckpt.version().version
    assert ckpt.version().simd in said


def test_show_gives_tensors_and_metadata():
    plain = ckpt.show(MODEL)
    assert (plain.tensors, plain.values, plain.tensor_list, plain.metadata) == (36, 2295936, [], {})
    assert plain.types == {"bf16": ckpt.TypeShare(tensors=36, size_bytes=4591872)}
    shown = ckpt.show(MODEL, tensors="*layers.0.mlp.*", metadata=True)
    assert [one.shape for one in shown.tensor_list] == [[256, 512], [512, 256], [512, 256]]
    assert shown.metadata == {"format": "pt"}
    assert len(ckpt.show(MODEL, tensors=True).tensor_list) == 36


def test_convert_writes_what_the_program_writes(folder):
    done = ckpt.convert(MODEL, "a.gguf", to="q8_0", tokenizer_pre="qwen2", keep=["*norm*", "*embed*"], threads=1)
    subprocess.run([ckpt.find_binary(), "convert", "-q", MODEL, "b.gguf", "--to", "q8_0", "--tokenizer-pre", "qwen2",
                    "--keep", "*norm*", "--keep", "*embed*"], check=True)
    assert pathlib.Path("a.gguf").read_bytes() == pathlib.Path("b.gguf").read_bytes()
    assert done.ok and done.outputs[0].written_bytes == pathlib.Path("a.gguf").stat().st_size == done.files[0].size_bytes
    assert len(done.files[0].sha256) == 64


def test_plan_says_what_convert_writes(folder):
    planned = ckpt.plan(MODEL, "a.gguf", "q8_0", keep=["*embed*"])
    assert not pathlib.Path("a.gguf").exists() and planned.outputs[0].dry_run
    done = ckpt.convert(MODEL, "a.gguf", "q8_0", keep=["*embed*"])
    assert planned.outputs[0].size_bytes == done.files[0].size_bytes


def test_values_are_read_and_set(folder):
    ckpt.convert(MODEL, "a.gguf", "q8_0")
    assert ckpt.get("a.gguf", "general.architecture") == "qwen3" == ckpt.get(MODEL, "model_type")
    assert ckpt.get(MODEL, "hidden_size", "num_hidden_layers") == {"hidden_size": 256, "num_hidden_layers": 3}
    ckpt.set("a.gguf", "general.name", "My model")
    ckpt.set("a.gguf", "my.key=u32:5", {"general.description": "of = a test"})
    assert [ckpt.get("a.gguf", f"general.{key}") for key in ("name", "description")] == ["My model", "of = a test"]
    assert ckpt.set("a.gguf", {"my.key": None}).changes[0].before == 5
    assert "my.key" not in ckpt.get("a.gguf")


def test_tensors_are_arrays(folder):
    numpy = pytest.importorskip("numpy")
    ckpt.convert(MODEL, "f32", "f32")
    ckpt.convert(MODEL, "a.gguf", "q4_k_m")
    plain, name = ckpt.tensors("f32", "*layers.0.mlp.*"), "model.layers.0.mlp.up_proj.weight"
    assert len(plain) == 3 and plain[name].shape == (512, 256) and plain[name].type == "f32"
    values = plain[name].values()
    assert isinstance(values.base, numpy.memmap) or isinstance(values, numpy.memmap)
    assert numpy.array_equal(values, ckpt.tensors(MODEL)[name].values())      # BF16
    quantized = ckpt.tensors("a.gguf")["blk.0.ffn_up.weight"]
    assert quantized.raw().nbytes == quantized.size_bytes
    expected = next(one for one in ckpt.diff("f32", "a.gguf", values=True).values if one.tensor in (name, quantized.name))
    assert abs(float(numpy.sqrt(numpy.mean((numpy.asarray(quantized) - values) ** 2))) / expected.rmse - 1) < 1e-3


def test_results_print_what_they_say(folder):
    shown = repr(ckpt.show(MODEL, tensors=True))
    assert "Qwen3ForCausalLM" in shown and "tensor_list=[36 Tensor]" in shown and len(shown) < 1000
    assert "<table>" in ckpt.show(MODEL, tensors=True)._repr_html_() and repr(ckpt.tensors(MODEL)).startswith("Tensors(36)")


def test_progress_is_told(folder):
    told = []
    ckpt.convert(MODEL, "out", to="nvfp4-w4a16", progress=told.append)
    assert told[-1].done_bytes == told[-1].total_bytes > 0
    assert [one.done_bytes for one in told] == sorted(one.done_bytes for one in told)


def test_dry_run_gives_the_plan(folder):
    done = ckpt.convert(MODEL, "out", to="nvfp4-w4a16", dry_run=True)
    assert len(done.plan) == 36 and done.outputs[0].dry_run and not pathlib.Path("out").exists()
    assert {one.from_ for one in done.plan} == {"bf16"}


def test_errors_are_the_sentence_of_the_program(folder):
    with pytest.raises(ckpt.CkptError) as refused:
        ckpt.show("nothing")
    said = subprocess.run([ckpt.find_binary(), "show", "nothing"], capture_output=True, text=True).stderr
    assert said == f"ckpt: {refused.value}\n" and refused.value.code == "not-found" and refused.value.exit_code == 2
    with pytest.raises(ckpt.CkptError, match="--nosuch: ckpt convert has no such option") as unknown:
        ckpt.convert(MODEL, "out", nosuch=1)
    assert unknown.value.hint == "ckpt help convert"
    with pytest.raises(ckpt.CkptError, match="q9_9"):
        ckpt.convert(MODEL, "out", to="q9_9")


def test_paths_are_never_taken_for_options(folder):
    shutil.copytree(MODEL, "--quiet")
    assert ckpt.show("--quiet").tensors == 36
    with pytest.raises(ckpt.CkptError):
        ckpt.show("--help")


def test_no_is_an_answer(folder):
    ckpt.convert(MODEL, "out", to="nvfp4-w4a16")
    apart = ckpt.diff(MODEL, "out", values=True, fail_if=["sqnr<99"])
    assert not apart.ok and apart.gates and apart.total is not None and apart.total.tensors == 36
    assert 15 < apart.total.sqnr_db < 40
    assert ckpt.diff(MODEL, MODEL).same and ckpt.diff(MODEL, MODEL).ok
    other = ckpt.diff(MODEL, TESTDATA / "llama-micro")
    assert not other.same and other.differences[0].kind


def test_patch_publish_and_verify(folder):
    shutil.copytree(MODEL, "model")
    plan = ckpt.patch("model", step="config:set=max_position_embeddings=4096", dry_run=True)
    assert plan.dry_run and [one.file for one in plan.plan] == ["config.json"]
    assert ckpt.patch("model", step=["config:set=a=1", "config:set=b=2"]).written_bytes > 0
    assert [one.path for one in ckpt.publish("model").files] == ["model/SHA256SUMS"]
    assert ckpt.verify("model").sound and ckpt.verify("model").ok
    pathlib.Path("model/config.json").write_text("{}")
    broken = ckpt.verify("model")
    assert not broken.sound and any(not one.ok and "config.json" in one.what for one in broken.checks)


def test_doctor_names_findings(folder):
    shutil.copytree(MODEL, "model")
    assert ckpt.doctor("model", for_="vllm").good
    (folder / "model/tokenizer_config.json").write_text('{"tokenizer_class": "TokenizersBackend"}')
    ill = ckpt.doctor("model", for_=["vllm-0.17", "llama.cpp"])
    assert not ill.ok and len(ill.verdicts) == 2 and ill.findings[0].found and ill.next is not None


def test_a_script_of_another_project_called_ckpt_is_not_run(folder, monkeypatch):
    installed = ckpt.find_binary()
    script = folder / "ckpt"
    script.write_text("#!/usr/bin/env python3\nprint('another project')\n")
    script.chmod(0o755)
    monkeypatch.setattr(ckpt._process.sysconfig, "get_path", lambda *_: str(folder))
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(ckpt.CkptError, match="ckpt is not installed"):
        ckpt.find_binary()
    monkeypatch.setenv("PATH", str(pathlib.Path(installed).parent))
    assert ckpt.find_binary() == installed


def test_a_program_killed_from_outside_is_an_error(folder, monkeypatch):
    fake = folder / "fake"
    fake.write_text("#!/bin/sh\nkill -9 $$\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CKPT_BINARY", str(fake))
    with pytest.raises(ckpt.CkptError, match="signal 9"):
        ckpt.show(MODEL)


@pytest.mark.parametrize("on_ctrl_c", (signal.default_int_handler, signal.SIG_IGN))   # the second in the background
def test_an_exception_in_progress_ends_the_program(folder, on_ctrl_c):
    write_large(folder / "large")
    def stop(_):
        raise ZeroDivisionError
    before = signal.signal(signal.SIGINT, on_ctrl_c)
    try:
        with pytest.raises(ZeroDivisionError):
            ckpt.convert("large", "out", progress=stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not pathlib.Path("out").exists() and programs_in(folder) == []


def test_ctrl_c_ends_the_run_and_the_next_goes_on(folder):
    """A zero-filled model of 4 GB takes no room and long enough to read."""
    write_large(folder / "large")
    program = textwrap.dedent("""
        import ckpt_tool as ckpt
        try:
            ckpt.convert("large", "out", progress=lambda one: print("going", flush=True))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """)
    # A shell gives what it runs in the background an ignored SIGINT, and Python leaves that as it is.
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    command = [sys.executable, "-c", program]
    python = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heed)
    assert python.stdout.readline() == "going\n"
    assert len(programs_in(folder)) == 1
    python.send_signal(signal.SIGINT)
    assert python.communicate(timeout=300)[0].endswith("interrupted\n")
    assert not pathlib.Path("out").exists() and pathlib.Path("out.partial").exists()
    assert programs_in(folder) == []


def programs_in(folder):
    """Process numbers of each ckpt that works there."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "comm").read_text() == "ckpt\n" and (process / "cwd").samefile(folder):
                found.append(process.name)
        except OSError:
            pass     # it ended just now, or is another's
    return found


def write_large(path, size=1 << 32):
    path.mkdir()
    write_tensors(path / "model.safetensors", {"w": {"dtype": "BF16", "shape": [size // 8192, 4096], "data_offsets": [0, size]}})
    (path / "config.json").write_text("{}")


def write_tensors(path, tensors, values=b""):
    header = json.dumps(tensors).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header + values)
        out.truncate(8 + len(header) + max(one["data_offsets"][1] for one in tensors.values()))


# Whoever builds options from variables that are not set must not get less than was asked for.
@pytest.mark.parametrize("value", ["", True, "--", "--json", [""], ["a", ""]])
@pytest.mark.parametrize("verb, option", [(ckpt.verify, "ignore"), (ckpt.verify, "public_key"), (ckpt.publish, "sign"),
                                          (ckpt.publish, "password_file"), (ckpt.doctor, "for_"), (ckpt.patch, "out")])
def test_a_missing_value_is_refused(folder, verb, option, value):
    shutil.copytree(MODEL, "m")
    before = sorted(pathlib.Path(".").rglob("*"))
    with pytest.raises(ckpt.CkptError) as refused:
        verb("m", **{option: value})
    assert (refused.value.code, refused.value.exit_code) == ("usage", 2)
    assert "empty value" in str(refused.value) or "its value is missing" in str(refused.value)
    assert sorted(pathlib.Path(".").rglob("*")) == before


@pytest.mark.parametrize("value", [b"a", {"a"}, {"a": "b"}, [None], [True], [["a"]], object()])
def test_a_value_that_is_no_text_is_refused(folder, value):
    with pytest.raises(TypeError):
        ckpt.verify(MODEL, ignore=value)


@pytest.mark.parametrize("path", ["", None, True, b"m", []])
def test_a_path_is_a_path(folder, path):
    with pytest.raises((TypeError, ckpt.CkptError)):
        ckpt.show(path)


def test_what_is_left_out_is_no_option(folder):
    shutil.copytree(MODEL, "m")
    assert ckpt.convert("m", "o", dry_run=True, keep=[], force=False, to=None, header_slack=0).ok


def test_an_empty_ignore_does_not_end_the_signature_check(folder):
    shutil.copytree(MODEL, "m")
    for name in ("own", "stranger"):
        subprocess.run(f"openssl ecparam -name prime256v1 -genkey -noout -out {name}.pem && "
                       f"openssl pkey -in {name}.pem -pubout -out {name}.pub", shell=True, check=True, capture_output=True)
    ckpt.publish("m", sign="stranger.pem")
    assert not ckpt.verify("m", public_key="own.pub").sound
    with pytest.raises(ckpt.CkptError):
        ckpt.verify("m", ignore="", public_key="own.pub")


def test_a_path_that_does_not_exist_is_not_found(folder):
    shutil.copytree(MODEL, "m")
    calls = [lambda: ckpt.doctor("none"), lambda: ckpt.diff("m", "none"), lambda: ckpt.report("m", against="none"),
             lambda: ckpt.report(["m", "none"]), lambda: ckpt.convert("none", "out", to="q8_0"), lambda: ckpt.execute("none"),
             lambda: ckpt.imatrix("show", "none")]
    for call in calls:
        with pytest.raises(ckpt.CkptError) as refused:
            call()
        assert refused.value.code == "not-found", refused.value
    for call in (lambda: ckpt.convert("m", "m"), lambda: ckpt.convert("m", "none", to="q9_9"), lambda: ckpt.list("none")):
        with pytest.raises(ckpt.CkptError) as refused:
            call()
        assert refused.value.code == "usage", refused.value


def test_report_gives_the_data_and_writes_the_page(folder):
    ckpt.convert(MODEL, "q.gguf", to="q8_0")
    report = ckpt.report("q.gguf", against=MODEL)
    assert [one["format"] for one in report.checkpoints] == ["gguf"]
    assert report.against is not None and not pathlib.Path("report.html").exists()
    ckpt.report(["q.gguf", MODEL], out="page.html")
    assert "ckpt report" in pathlib.Path("page.html").read_text()


def test_execute_runs_a_plan_in_shares(folder):
    ckpt.convert(MODEL, "out.gguf", to="q8_0", plan_out="plan.json")
    first = ckpt.execute("plan.json", part="1/2")
    assert first.share is not None and first.share.share == "1/2" and first.share.missing == [2]
    last = ckpt.execute("plan.json", part="2/2")
    assert last.share is None and last.files[0].path == str(folder / "out.gguf")


def test_imatrix_is_shown_and_merged(folder):
    file = TESTDATA / "formats/good/imatrix/imatrix.gguf"
    shown = ckpt.imatrix("show", file)
    assert len(shown.shown) == 1 and shown.shown[0].tensors == len(shown.tensors) > 0
    filled = ckpt.imatrix("fill", file, out="filled.gguf")
    assert [one.path for one in filled.files] == ["filled.gguf"] and pathlib.Path("filled.gguf").exists()


def test_list_gives_what_the_program_knows():
    assert "q4_k_m" in {one["name"] for one in ckpt.list("types")}
    assert {"type", "step", "profile", "command"} <= {one["type"] for one in ckpt.list()}


def test_options_are_typed_and_explained():
    import inspect
    parameters = inspect.signature(ckpt.convert).parameters
    for one in ckpt.list("commands"):
        function = getattr(ckpt, one["name"], None)
        if function is None or one["name"] in ("version", "get", "set", "plan"):
            continue
        known = set(inspect.signature(function).parameters)
        for option in one["options"]:
            names = {name.lstrip("-").replace("-", "_") for name in option["names"]}
            own = {"json", "quiet", "progress", "color", "outfile"} & names
            assert not option["names"][0].startswith("-") or own or {*names, *(f"{name}_" for name in names)} & known, option
    assert parameters["to"].annotation == "str | None" and parameters["force"].annotation == "bool"
    assert "to: type to store weights in" in (ckpt.convert.__doc__ or "")


def test_other_spellings_reach_the_program(folder):
    assert ckpt.convert(MODEL, "a.gguf", outtype="q8_0", dry_run=True).ok
    assert ckpt.convert(MODEL, "sharded", max_shard_size="1MB", dtype="float16", dry_run=True).ok
    with pytest.raises(ckpt.CkptError, match="ckpt does not calibrate"):
        ckpt.convert(MODEL, "out", num_calibration_samples=512)


@pytest.fixture()
def no_exit_codes():
    """A program that ignores SIGCHLD learns no exit code of its children."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


def test_a_failure_is_no_success_where_exit_codes_are_lost(folder, no_exit_codes):
    shutil.copytree(MODEL, "m")
    with open("m/model.safetensors", "ab") as file:
        file.write(b"x")
    pathlib.Path("none.json").write_text("{}")
    calls = [lambda: ckpt.convert("m", "x.gguf", to="q8_0"), lambda: ckpt.publish("m"), lambda: ckpt.execute("none.json"),
             lambda: ckpt.patch("m", step="rename:from=a,to=b"), lambda: ckpt.report("m", against="none"),
             lambda: ckpt.imatrix("show", "none"), lambda: ckpt.list("none"), lambda: ckpt.show("none")]
    for call in calls:
        with pytest.raises(ckpt.CkptError) as failed:
            call()
        assert failed.value.exit_code == 2 and failed.value.code
    assert not ckpt.verify("m").ok


def test_an_answer_is_the_same_where_exit_codes_are_lost(folder, no_exit_codes):
    one = {"w": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}
    write_tensors("a.safetensors", one, b"\0" * 8)
    write_tensors("b.safetensors", one, b"\1" * 8)
    write_tensors("c.safetensors", {"v": one["w"]}, b"\0" * 8)
    for values in (False, True):
        assert ckpt.diff("a.safetensors", "a.safetensors", values=values).ok
        for other in ("b.safetensors", "c.safetensors"):
            apart = ckpt.diff("a.safetensors", other, values=values)
            assert not apart.ok and not apart.same and apart.differences
    ckpt.convert(MODEL, "q.gguf", to="q4_0")
    assert not ckpt.diff(MODEL, "q.gguf", fail_if="sqnr<99").ok
    assert ckpt.diff(MODEL, "q.gguf", fail_if="sqnr<1").ok
    shutil.copytree(MODEL, "m")
    (folder / "m/tokenizer_config.json").write_text('{"tokenizer_class": "TokenizersBackend"}')
    assert not ckpt.doctor("m", for_="vllm-0.17").ok


def test_a_damaged_checkpoint_differs_and_says_why(folder):
    pathlib.Path("a.safetensors").write_bytes(b"\0" * 7)
    apart = ckpt.diff("a.safetensors", "a.safetensors")
    assert not apart.ok and not apart.same and any("a.safetensors" in note for note in apart.notes)


def test_statistics_of_another_model_are_not_ok(folder):
    ill = ckpt.doctor(MODEL, for_="vllm", imatrix=TESTDATA / "formats/good/imatrix/imatrix.gguf")
    assert ill.good and not ill.ok and [one.fits for one in ill.statistics] == [False]


def test_a_diagnosis_tells_whether_all_was_checked(folder):
    ckpt.convert(MODEL, "q.gguf", to="q8_0")
    for profile in ("llama.cpp", "vllm-0.17"):
        code = subprocess.run([ckpt.find_binary(), "doctor", "-q", "q.gguf", "--for", profile], capture_output=True).returncode
        known = ckpt.doctor("q.gguf", for_=profile)
        assert (known.good, known.checked) == (code != 1, code == 0), (profile, code)


def test_an_archive_and_its_folder_have_one_answer(folder):
    shutil.copytree(MODEL, "m")
    ckpt.publish("m", archive="m.tar.zst")
    def answer(path):
        try:
            return ckpt.verify(path, public_key=TESTDATA / "publish/p256.pub").sound
        except ckpt.CkptError as error:
            return error.code
    assert answer("m") == answer("m.tar.zst")      # neither is signed


def fields_of(result):
    """Each dataclass in `result`, itself first, as a dict of its fields."""
    if dataclasses.is_dataclass(result):
        yield {field.name.rstrip("_"): getattr(result, field.name) for field in dataclasses.fields(result)}
        for field in dataclasses.fields(result):
            yield from fields_of(getattr(result, field.name))
    elif isinstance(result, (list, tuple)):
        for one in result:
            yield from fields_of(one)


# Fields of --json that a result gives in another form: a list for a number, an object for a dict.
OTHER_FORM = {"checkpoint": {"types", "metadata"}, "summary": {"differences", "files", "findings"}, "report": {"report"},
              "chosen_types": None}


def test_a_result_has_all_that_the_program_says(folder, monkeypatch):
    said = []
    real = ckpt._api.run
    monkeypatch.setattr(ckpt._api, "run", lambda *words: said.append(real(*words)) or said[-1])
    shutil.copytree(MODEL, "m")
    imatrix = TESTDATA / "formats/good/imatrix/imatrix.gguf"
    calls = [
        lambda: ckpt.show("m", tensors=True, metadata=True),
        lambda: ckpt.convert("m", "q.gguf", to="q4_0", dry_run=True),
        lambda: ckpt.convert("m", "q.gguf", to="q4_0"),
        lambda: ckpt.show("q.gguf", tensors=True, metadata=True),
        lambda: ckpt.convert("m", "p.gguf", to="q4_0", plan_out="plan.json"),
        lambda: ckpt.execute("plan.json", part="1/2"),
        lambda: ckpt.convert("m", "n", to="nvfp4-w4a16", for_="vllm", if_needed=True),
        lambda: ckpt.convert("m", "n", to="nvfp4-w4a16", for_="vllm", if_needed=True),
        lambda: ckpt.show("n"),
        lambda: ckpt.convert("n", "d", to="bf16"),
        lambda: ckpt.patch("m", step="config:set=max_position_embeddings=4096", dry_run=True),
        lambda: ckpt.patch("m", step="config:set=max_position_embeddings=4096"),
        lambda: ckpt.doctor("m", for_="vllm", imatrix=imatrix),
        lambda: ckpt.diff("m", MODEL),
        lambda: ckpt.diff("m", "n", values=True, fail_if="sqnr<99"),
        lambda: ckpt.report("n"),
        lambda: ckpt.imatrix("show", imatrix),
        lambda: ckpt.publish("m", dry_run=True, to="oci://localhost:1/a/b:v1"),
        lambda: ckpt.publish("m", archive="m.tar.zst"),
        lambda: ckpt.verify("m"),
    ]
    OTHER_FORM["note"] = None   # notes are lines of text, which results collect in `notes`
    kinds = set()
    for call in calls:
        result = list(fields_of(call()))
        for one in said[-1].objects:
            kind = one["type"]
            kinds.add(kind)
            if OTHER_FORM.get(kind, set()) is None:
                continue
            known = {key: value for key, value in one.items() if key not in {"type", "schema", *OTHER_FORM.get(kind, ())}}
            assert any(all(key in each and each[key] == value for key, value in known.items()) for each in result), (kind, known)
    assert {"plan", "summary", "share", "plan-file", "change", "statistics", "publish", "placement", "rounded", "serve"} <= kinds
