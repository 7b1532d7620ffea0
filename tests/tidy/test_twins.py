"""No function is written twice: bodies of six lines or more that differ only in the names of their variables."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable

from tests.tidy.allowed import check_allowed
from tests.tidy.tree import Function, Source, sample, sources

LINES_MIN = 6


class Renamed(ast.NodeTransformer):
    """Numbers the variables of a function, so that a copy with other names is the same."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def _number(self, name: str) -> str:
        return self._numbers.setdefault(name, f"v{len(self._numbers)}")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._number(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self._number(node.arg))


def shape(function: Function) -> str:
    """Return what a function does, without its docstring and the names of variables; empty if it is too short."""
    if (function.end_lineno or 0) - function.lineno < LINES_MIN:
        return ""
    parsed = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(parsed, Function)
    body = parsed.body[1:] if ast.get_docstring(parsed) is not None else parsed.body
    lines = sum(len(ast.unparse(statement).splitlines()) for statement in body)
    if lines < LINES_MIN:
        return ""
    renamed = Renamed()
    return "\n".join(ast.dump(renamed.visit(node)) for node in (parsed.args, *body))


def repeated(among: Iterable[Source]) -> Counter[str]:
    """Count the functions that were written before, by the names of all of them."""
    found: dict[str, list[str]] = defaultdict(list)
    for source in among:
        for function in source.functions():
            found[shape(function)].append(f"{source.path.stem}.{function.name}")
    return Counter({" = ".join(sorted(names)): len(names) - 1 for key, names in found.items() if key and names[1:]})


def twins() -> Counter[str]:
    return repeated(sources("src"))


def test_no_function_is_written_twice():
    long = "def f(x):\n    a = 1\n    b = x\n    c = 3\n    d = 4\n    e = 5\n    return a + b + c + d + e\n"
    copy = long.replace("def f", "def g").replace("a =", "one =").replace("return a", "return one")
    short = "def f(x):\n    return x\n"
    assert repeated([sample(long), sample('"""x"""\n' + copy, path="src/leasehold/other.py")]) == {
        "other.g = sample.f": 1
    }
    assert not repeated([sample(long), sample(long.replace("3", "4"))])
    assert not repeated([sample(short), sample(short)])
    assert not repeated([sample("import a\nimport b\n"), sample("import a\nimport b\n")])
    check_allowed("functions", twins())
