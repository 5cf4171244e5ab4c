"""Words of assignments in the source of a program, which is parsed and never run."""
import ast
import functools
import pathlib


@functools.lru_cache(maxsize=None)
def tree(file):
    return ast.parse(pathlib.Path(file).read_text(encoding="utf-8-sig"))


def statements(body):
    """Those of a module, also below conditions: not of functions and classes, which most of a source is in."""
    for node in body:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody"):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from statements(getattr(node, part, []))


def texts(node):
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def pairs(node):
    """(key, value) of each entry of a mapping as it is written: {..}, OrderedDict([(..)]), Mapping(a="..")."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values):
            yield from pairs(value) if key is None else [(key, value)]
    elif isinstance(node, ast.Call):
        for argument in node.args:
            yield from pairs(argument)
        for keyword in node.keywords:
            yield from pairs(keyword.value) if keyword.arg is None else [(ast.Constant(keyword.arg), keyword.value)]
    elif isinstance(node, ast.Subscript):  # Literal["..", ".."]
        yield from pairs(node.slice)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for each in node.elts:
            is_pair = isinstance(each, ast.Tuple) and len(each.elts) == 2
            yield (each.elts[0], each.elts[1]) if is_pair else (each, each)


def values_of(file, name, updates=True):
    """What is assigned to `name`, and what its update() gets."""
    for node in statements(tree(file).body):
        node = node.value if isinstance(node, ast.Expr) else node
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and any(isinstance(t, ast.Name) and t.id == name for t in targets):
            yield from [node.value] if node.value else []
        if updates and isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.update":
            yield from node.args


def keys(file, *names, column=0, updates=True, optional=False):
    """The keys of the mappings and the texts of the lists `names`; with column 1 the texts in their values."""
    found = set()
    for name in names:
        own = set()
        for value in values_of(file, name, updates):
            for pair in pairs(value):
                own |= texts(pair[column])
        if not own and not optional:
            raise SystemExit(f"{file}: no words in {name}; expected a mapping or a list of texts")
        found |= own
    return found


def classes_with(root, attribute):
    """class -> the value of this attribute in its body, of all classes below `root`"""
    found = {}
    for file in sorted(pathlib.Path(root).rglob("*.py")):
        if attribute not in file.read_text(encoding="utf-8-sig"):
            continue
        for node in statements(tree(file).body):
            for line in node.body if isinstance(node, ast.ClassDef) else []:
                targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
                if any(isinstance(t, ast.Name) and t.id == attribute for t in targets) and line.value is not None:
                    found[node.name] = line.value
    return found
