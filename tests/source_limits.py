#!/usr/bin/env python3
"""Holds functions to the limits of CONTRIBUTING.md, and comments to files that exist.

  functions  at most 60 lines, 5 parameters and 3 blocks of control statements inside one another; a
             lambda is counted by itself
  comments   a source, header, script or document of ours that a comment names exists
  literals   outside models/ at most MODEL_LITERALS string literals name modules, tensors or fields of config.json:
             code asks models/ for such facts; whoever removes some lowers the number

usage: source_limits.py ROOT             prints each breach as "file:line: limit" and exits 1
       source_limits.py --planted ROOT   must see each breach in a source of its own, and none in others
"""
import pathlib
import re
import sys

MAX_LINES, MAX_PARAMETERS, MAX_NESTING = 60, 5, 3
SOURCES = ["bench", "checks", "core", "formats", "fuzz", "models", "plan", "publish", "quantizers", "remote", "tests", "tools", "transforms"]
FOLDERS = SOURCES + ["cmake", "docs", "packaging", "report", "testdata"]
LIBC = {"copy_file_range"}  # defined again by a test, with its parameters
THEIRS = ("ggml/", "hwy/", "include/", "src/", "ggml-", "llama-", "tools/server/")  # other programs' files, cited as sources
TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/ | ^[ \t]*\#(?:\\\n|[^\n])*
  | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
  | [A-Za-z_]\w* | [0-9](?:[\w.]|'[0-9a-fA-F])* | ->|:: | [^\s\w]""", re.X | re.S | re.M)
NAMED = re.compile(r"(?<![\w./*<{}-])((?:[\w-]+/)*[a-z0-9][\w-]*\.(?:cc|h)|(?:%s)/[\w/-]+\.(?:py|sh|md|txt|cmake))\b(?![\w(])"
                   % "|".join(set(FOLDERS) - {"models"}))  # models/*.py are transformers' and vLLM's
MODEL_LITERALS = 639
NAMES_OF_MODELS = re.compile(
    r"self_attn|\bmlp\b|[qkv]_proj|o_proj|gate_proj|up_proj|down_proj|gate_up|qkv|in_proj|out_proj|lm_head|embed_tokens"
    r"|experts|shared_expert|attn_[a-z]|ffn_|\bblk\.|token_embd|output_norm|vision_tower|language_model|\bvisual\b"
    r"|linear_attn|kv_a_|q_a_|layer_types|num_hidden_layers|num_attention_heads|num_key_value|head_dim|hidden_size"
    r"|intermediate_size|sliding_window|tie_word")
WITH_HEAD, WITHOUT_HEAD = {"if", "for", "while", "switch", "catch"}, {"else", "do", "try"}
STATEMENTS = {"function", "control", "bare", "block"}


class Scan:
    """One pass over a source: `found` holds (line, breach)."""

    def __init__(self, text):
        self.code, self.found = [], []
        line, end = 1, 0
        for match in TOKEN.finditer(text):
            line, end = line + text.count("\n", end, match.start()), match.start()
            if not match.group().lstrip().startswith(("//", "/*", "#")):
                self.code.append((line, match.group()))
        self.stack = [("scope", 0)]  # what is open: (kind, its line)
        self.opened = {}             # index of a closing bracket: index of its opening one
        self.open_at = []
        self.begins = [0]            # where the statement of each open scope begins
        self.waits = None            # a control statement waits for its "head" or its "body"
        for at, (line, token) in enumerate(self.code):
            self.step(at, line, token)

    def step(self, at, line, token):
        if self.waits == "body" and token != "{":
            self.waits = None
            if token == "if" and self.word(at - 1) == "else":
                self.waits = "head"
                return
            self.push("bare", line)
        if token in {"(", "["}:
            self.push("head" if self.waits == "head" and token == "(" else token, line, at)
            self.waits = None
        elif token in {")", "]"} and len(self.stack) > 1:
            self.waits = "body" if self.pop(at) == "head" else None
        elif token == "{":
            self.open_brace(at, line)
        elif token == "}" and len(self.stack) > 1:
            self.close_brace(at, line)
        elif token == ";":
            self.end_statement(at)
        elif token in WITH_HEAD | WITHOUT_HEAD and self.stack[-1][0] in STATEMENTS:
            self.waits = "head" if token in WITH_HEAD else "body"

    def word(self, at):
        return self.code[at][1] if at >= 0 else ""

    def push(self, kind, line, at=None):
        self.stack.append((kind, line))
        if kind != "bare":
            self.open_at.append(at)
        if kind == "scope":
            self.begins.append(at + 1)
        if kind == "control":
            depth = 0
            while self.stack[-1 - depth][0] != "function" and depth + 1 < len(self.stack):
                depth += 1
            depth = sum(kind == "control" for kind, _ in self.stack[len(self.stack) - depth:])
            if depth == MAX_NESTING + 1:
                self.found.append((line, f"more than {MAX_NESTING} blocks of control statements inside one another"))

    def pop(self, at):
        kind, _ = self.stack.pop()
        self.opened[at] = self.open_at.pop()
        return kind

    def open_brace(self, at, line):
        if self.waits == "body":
            self.waits = None
            self.push("control", line, at)
            return
        kind, parentheses = self.what_opens(at)
        if parentheses:
            line = self.code[parentheses[0]][0]
            if self.parameters(*parentheses) > MAX_PARAMETERS and self.word(parentheses[0] - 1) not in LIBC:
                self.found.append((line, f"more than {MAX_PARAMETERS} parameters"))
        self.push(kind, line, at)

    def close_brace(self, at, line):
        begin = self.stack[-1][1]
        kind = self.pop(at)
        if kind == "scope":
            self.begins.pop()
        if kind == "function" and line - begin >= MAX_LINES:
            self.found.append((begin, f"a function of {line - begin + 1} lines, more than {MAX_LINES}"))
        if kind != "init":
            self.end_statement(at)

    def end_statement(self, at):
        while self.stack[-1][0] == "bare":
            self.stack.pop()
        if self.stack[-1][0] == "scope":
            self.begins[-1] = at + 1

    def what_opens(self, at):
        """(kind, (index of a parenthesis, of its closing one)) of the brace at `at`."""
        if found := self.lambda_before(at):
            return "function", found if found[1] else None
        context = self.stack[-1][0]
        if context in STATEMENTS:
            if self.word(at - 1) in {";", "{", "}", ":"}:
                return "block", None
            begin = at - 1
            while self.word(begin) not in {";", "{", "}", ""}:
                begin -= 1
            return ("scope" if self.word(begin + 1) in {"struct", "class"} else "init"), None
        if context != "scope":
            return "init", None
        return self.what_opens_in_scope(self.outside_brackets(self.begins[-1], at), at)

    def what_opens_in_scope(self, statement, at):
        words = [self.word(i) for i in statement]
        closing = [i for i in statement if self.word(i) == ")"]
        if "namespace" in words or "extern" in words and not closing:
            return "scope", None
        if not closing:
            return ("scope" if {"struct", "class", "union"} & set(words) and "enum" not in words else "init"), None
        first = closing[1] if self.word(closing[0] - 2) == "operator" and len(closing) > 1 else closing[0]
        if any(self.word(i) == "=" and self.word(i - 1) != "operator" for i in statement if i < first):
            return "init", None
        has_members = any(self.word(i) == ":" for i in statement if i > first)
        if has_members and re.match(r"\w|>", self.word(at - 1)):
            return "init", None
        return "function", (self.opened[first], first)

    def outside_brackets(self, begin, end):
        """Indices between them, without what brackets and the list after `template` hold."""
        kept, i = [], end - 1
        while i >= begin:
            kept.append(i)
            i = self.opened[i] if i in self.opened else i - 1
        kept.reverse()
        while kept and self.word(kept[0]) == "template":
            depth = 0
            for count, i in enumerate(kept):
                depth += (self.word(i) == "<") - (self.word(i) == ">")
                if count and depth == 0:
                    break
            kept = kept[count + 1:]
        return kept

    def lambda_before(self, at):
        i = at - 1
        while re.match(r"\w|::|[<>,*&]$", self.word(i)) and self.word(i) != "return":
            i -= 1
        i = i - 1 if self.word(i) == "->" else at - 1
        while self.word(i) in {"mutable", "noexcept", "const"}:
            i -= 1
        if self.word(i) == ")" and self.word(self.opened[i] - 1) == "]":
            return self.opened[i], i
        if self.word(i) == "]" and not re.match(r"[\w)\]]", self.word(self.opened[i] - 1)):
            return i, None
        return None

    def parameters(self, begin, end):
        depth, count = 0, int(end > begin + 1)
        for i in range(begin + 1, end):
            token = self.word(i)
            depth += (token in {"(", "[", "{", "<"}) - (token in {")", "]", "}", ">"})
            count += token == "," and depth == 0
        return count


def comments_of(text, suffix):
    mark = "//" if suffix in {".cc", ".h"} else "#"
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith("#include") and mark in line:
            yield number, line[line.index(mark):]


def missing_names(text, suffix, files):
    for number, comment in comments_of(text, suffix):
        for name in NAMED.findall(comment):
            if not name.startswith(THEIRS) and not any(f"/{file}".endswith("/" + name) for file in files):
                yield number, f"a comment names {name}, which does not exist"


def model_literals(texts):
    """Counts literals that name parts of models, for each file outside models/."""
    found = {}
    for name, text in texts.items():
        if not name.startswith(("models/", "tests/", "bench/", "fuzz/")):
            code = re.sub(r"^#include.*$|//.*$", "", text, flags=re.M)
            found[name] = sum(bool(NAMES_OF_MODELS.search(each)) for each in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code))
    return found


def literals_breach(texts, most):
    found = model_literals(texts)
    if sum(found.values()) > most:
        worst = max(found, key=found.get)
        yield (f"{worst}:1: {sum(found.values())} literals outside models/ name modules, tensors or fields of models; at "
               f"most {most}; ask models/models.h for the fact")


def breaches(texts, files):
    for name, text in texts.items():
        suffix = pathlib.PurePath(name).suffix
        found = list(missing_names(text, suffix, files))
        if suffix in {".cc", ".h"}:
            found += Scan(text).found
        yield from (f"{name}:{line}: {breach}" for line, breach in sorted(found))


def read_tree(root):
    texts, files = {}, set()
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("**/*")):
            name = path.relative_to(root).as_posix()
            files.add(name)
            if path.suffix in {".cc", ".h"} and folder in SOURCES:
                texts[name] = path.read_text(encoding="utf-8")
    return texts, files


FOUND = {  # a source, what must be said of it
    "void f() {" + "\n" * 60 + "}": "a function of 61 lines",
    "auto f = [](int x) -> int {" + "\n" * 60 + "};": "a function of 61 lines",
    "A::A(int x) : a_{x}, b_(x) {" + "\n" * 60 + "}": "a function of 61 lines",
    "template <class T, class U>\nT f(int a, int b, int c, int d, int e, int f) { return {}; }": "5 parameters",
    "struct A {\n  bool operator()(int a, int b, int c, int d, int e, int f) const { return {}; }\n};": "5 parameters",
    "void f() { g([&](int a, int b, int c, int d, int e, int f) { return 1; }); }": "5 parameters",
    "void f() { for (;;) { if (a) { while (b) { switch (c) { default: return; } } } } }": "3 blocks",
    "void f() { for (;;) { if (a) { do { if (b) { g(); } else { h(); } } while (c); } } }": "3 blocks",
    "int x;  // as core/base/no_such_file.h says": "core/base/no_such_file.h",
    "int x;  // tests/no_such_file.py": "tests/no_such_file.py",
}
ALLOWED = [
    "void f() {" + "\n" * 59 + "}",
    "const Table kTable[] = {" + "\n" * 80 + "};\nnamespace a {" + "\n" * 80 + "}  // namespace a",
    "class A : public B {" + "\n" * 80 + "};\nenum class E {" + "\n" * 80 + "};",
    "void f(std::map<int, int> a, int b = g(1, 2), std::function<void(int, int)> c = {1, 2}, int d, int e) {}",
    "void f() { if (a) { x(); } else if (b) { for (;;) { if (c) { } else if (d) { } } } else { } }",
    "void f() { for (;;) { if (a) { while (b) { g([&] { for (;;) { } }); } } } }",
    "int x;  // core/base/arithmetic.h, result.h; llama.cpp src/llama-model-loader.h; *_simd.cc",
]


def planted(files):
    for text, said in FOUND.items():
        found = list(breaches({"planted.cc": text}, files))
        if not any(said in breach for breach in found):
            yield f"expected '{said}', found {found}, in {text}"
    for text in ALLOWED:
        yield from breaches({"planted.cc": text}, files)
    literal = 'f("model.layers.{}.self_attn.q_proj", "x");  // "mlp"'
    for name, most, count in [("checks/a.cc", 0, 1), ("checks/a.cc", 1, 0), ("models/a.cc", 0, 0), ("tests/a.cc", 0, 0)]:
        if len(list(literals_breach({name: literal}, most))) != count:
            yield f"expected {count} breaches of {most} literals in {name}"


texts, files = read_tree(pathlib.Path(sys.argv[-1]))
held = lambda: [*breaches(texts, files), *literals_breach(texts, MODEL_LITERALS)]
found = list(planted(files)) if sys.argv[1] == "--planted" else held()
print("\n".join(found) or "limits of sources hold")
sys.exit(1 if found else 0)
