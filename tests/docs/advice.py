"""Types the commands that ckpt suggests: next steps, hints of errors, and fixes of findings.

  Next: ckpt verify out                         typed as it stands; exits 0, or 1 as a verdict
  Next: llama-cli -m out.gguf                   another program: what it is given exists and is of its kind
    fix: ckpt patch out --step vl-wrap         (or "or:", "Fix all:", a row of the doctor) typed in a copy of the folder
  ... Try: ckpt convert --recipe FILE, or ...   commands and flags are ones that there are
  ... Try: --force to replace it, or ...        a flag without a placeholder is typed behind the line that failed: the same
                                                error must not come again
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import fixtures

# Programs that are named as a next step but are not run here: what each takes after which words.
OTHER_PROGRAMS = {
    "llama-cli": ("-m", "gguf"), "llama-server": ("-m", "gguf"), "vllm": ("serve", "folder"), "trtllm-serve": ("trtllm-serve", "folder"),
    "python": ("--model-path", "folder"), "python3": ("--model-path", "folder"),
}
# Commands of other programs that load or make what is read here: they are not there, or need the network.
OTHER_MAKERS = (
    "hf ", "accelerate merge-weights ", "mlx_lm.convert ", "python -m torch.distributed.checkpoint.format_utils ",
    "python -m verl.model_merger ", "python zero_to_fp32.py ",
)
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\.\.\.")


ADVISED = (
    ("next", r"^Next: (.+)$"),
    ("fix", r"^(?: +(?:fix|or)|Fix [a-z ]+): (ckpt [^(]+)"),
    ("fix", r"^[\w.-]+ [\d.]+ +(?:loads  correct|loads  wrong results|does not load) +([^ (].*?)(?:   \(.*)?$"),    # a row of the doctor
    ("fix", r"^(?:\d+ [a-z]|details)[^:]*:(?: .*:)? (ckpt doctor .+)$"),    # the line that counts further findings
    ("try", r"\bTry: (.+)$"),
)


def advised(printed):
    """(kind, text) of each piece of advice in what was printed."""
    for line in printed.splitlines():
        for kind, pattern in ADVISED:
            found = re.search(pattern, line)
            if found:
                yield kind, found[1].strip()


def other_program(words, folder):
    marker, kind = OTHER_PROGRAMS[words[0]]
    at = words.index(marker) if marker in words else -1
    if at < 0 or at + 1 >= len(words):
        return f"gives {words[0]} nothing to load"
    if words[at + 1] == "MODEL.gguf":   # a file that is not named on the line that was typed
        return None
    path = pathlib.Path(folder) / words[at + 1]
    if kind == "gguf" and not (path.is_file() and path.read_bytes()[:4] == b"GGUF"):
        return f"gives {words[0]} {words[at + 1]}, which is not a GGUF file"
    if kind == "folder" and not (path / "config.json").is_file():
        return f"gives {words[0]} {words[at + 1]}, which is not a model folder"
    return None


def with_copies(command, top):
    """The command, on copies of what it names by a whole path: advice may change what it is about."""
    def copied(found):
        path = pathlib.Path(found[0])
        if path.is_relative_to(top) or not path.parent.exists():
            return found[0]
        if not path.exists():    # a new name next to what is copied
            (pathlib.Path(top) / "named").mkdir(exist_ok=True)
            return str(pathlib.Path(top) / "named" / path.name)
        copy = pathlib.Path(top) / "named" / path.name
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            shutil.copytree(path, copy, symlinks=True) if path.is_dir() else shutil.copy2(path, copy)
        return str(copy)
    return re.sub(r"(?<![\w./-])/[\w./-]+", copied, command)


def pipes(folder, names):
    return [name for name in names if (pathlib.Path(folder) / name).is_fifo()]


def typed(run, command, folder):
    """A command of ours, in a copy of the folder, so that the page continues from where it was."""
    with tempfile.TemporaryDirectory() as top:
        copy = pathlib.Path(top) / "copy"
        shutil.copytree(folder, copy, symlinks=True, ignore=pipes)
        command = with_copies(command.replace(str(folder) + "/", str(copy) + "/"), top)
        done = subprocess.run(["bash", "-c", command], cwd=copy, env=fixtures.environment(run.ckpt, copy, run.environment), timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    run.counts["lines"] += 1
    not_checked = (3,) if command.startswith("ckpt doctor ") else ()    # the doctor ran; the model has no table
    if done.returncode not in (0, 1, *not_checked):
        return f"exit code {done.returncode}: {done.stdout}"
    return None


def known_flags(run, verb, cache={}):
    if verb not in cache:
        text = subprocess.run([run.ckpt, "help", verb], capture_output=True, text=True).stdout
        cache[verb] = set(re.findall(r"--[\w-]+", text))
    return cache[verb]


def prose(run, text, verb):
    """Advice in words: its flags are the verb's, its commands are ckpt's."""
    for command in re.findall(r"\bckpt (\w+)", text):
        if not known_flags(run, command):
            return f"names 'ckpt {command}', which there is not"
    text = re.sub(r"\(ckpt script \w+\)", "", text)   # where a script comes from; the flags are another command's
    named = re.search(r"\bckpt (\w+)", text)
    for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", text):
        if flag not in known_flags(run, named[1] if named else verb):
            return f"names {flag}, which 'ckpt {named[1] if named else verb}' does not have"
    return None


def flags_to_type(run, text, verb):
    """What of "--force to replace it, or --keep 'x*'" a person would type behind the line."""
    for part in re.split(r"[;,]? or |; ", text):
        words = part.split()
        if not words or not words[0].startswith("--") or words[0] not in known_flags(run, verb):
            continue
        takes_value = words[0] in fixtures.value_options(run.ckpt, verb)
        if not takes_value:
            yield words[0]
        elif len(words) > 1 and not PLACEHOLDER.search(words[1]):
            yield " ".join(words[:2])


def without_the_mistake(line, flags, printed):
    """The line without the word that the advice replaces; None when that word is in a recipe."""
    option = flags.split()[0]
    misspelt = re.search(r"(--[\w-]+): (?:ckpt \w+ has no such option|its value is missing;)", printed)
    if misspelt:
        return line.replace(f" {misspelt[1]}", "", 1)
    extra = re.search(r"ckpt: (\S+): too many arguments", printed)
    if extra:
        return line.replace(f" {extra[1]}", "", 1)
    recipe = re.search(r"--recipe[ =](\S+)", line)
    if recipe and option == "--step" and option not in line:
        return None
    if option == "--step":    # instead of the step that failed
        return re.sub(r"--step[ =]\S+", "", line)
    for found in re.finditer(rf"{option}[ =](\S+)", line):
        if f"'{found[1]}'" in printed or f"{found[1]}: " in printed:
            return line.replace(found[0], "", 1)
    return line


def flag_problem(run, flags, line, printed, folder):
    """The line with the flags that were advised, in a copy of the folder."""
    if re.search(r"[|;&<>#]", line):
        return None
    line = without_the_mistake(line, flags, printed)
    if line is None:
        return None
    found = typed(run, f"{line} {flags}", folder)
    error = next((text for text in printed.splitlines() if text.startswith("ckpt: ") and "Try: " in text), None)
    return f"does not help: {found}" if found and error and error in found else None


def problem_of(run, kind, text, line, printed, folder):
    words = text.split()
    if text.startswith(OTHER_MAKERS):
        return None
    if words[0] in OTHER_PROGRAMS:
        return other_program(shlex.split(text), folder)
    verb = (re.search(r": ckpt (\w+) has no such option", printed) or re.search(r"\bckpt (\w+)", line) or ["", "convert"])[1]
    command = text if kind != "try" else text.split(";")[0].split(", ")[0]
    command = re.sub(r"\bOUT\b", "advised-out", command)    # any new name
    misspelt = re.search(r"'([\w-]+)' is not a command", printed)
    if misspelt:
        is_whole = command.startswith("ckpt ") and (len(words) > 2 or words[1].startswith("-"))    # a line, not a word in its place
        found = typed(run, command if is_whole else re.sub(rf"\bckpt {misspelt[1]}\b", command, line), folder)
        return found if found and "is not a command" in found else None
    if command.startswith("ckpt ") and not PLACEHOLDER.search(command):
        return typed(run, command, folder)
    if kind == "try":
        for flags in flags_to_type(run, text, verb):
            problem = flag_problem(run, flags, line, printed, folder)
            if problem:
                return problem
    return prose(run, text, verb)


def problems(run, line, printed, folder):
    """What is wrong with the advice that was printed after `line`."""
    seen = set()
    for kind, text in advised(printed):
        if (kind, text) in seen:
            continue
        seen.add((kind, text))
        run.counts["advice"] += 1
        problem = problem_of(run, kind, text, line, printed, folder)
        if problem:
            yield f"advises '{text}', which {problem if not problem.startswith('exit') else 'fails: ' + problem}"
