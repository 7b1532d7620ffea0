"""What every module owes its reader, and what none may do."""

import ast
import re
from collections.abc import Iterator

from tests.tidy.tree import Source, dotted, findings, sample, sources

DOCSTRING_LINES_MAX = 12
BANNER = re.compile(r"^\s*#\s*[-=#*~]{4,}", re.MULTILINE)
BANNED_MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve"}
BANNED_CALLS = {"eval", "exec", "os.system", "os.popen", "builtins.eval", "builtins.exec"}


def poor_opening(source: Source) -> Iterator[str]:
    if not source.text.strip():
        return
    docstring = ast.get_docstring(source.tree)
    lines = len(docstring.splitlines()) if docstring else 0
    if not 1 <= lines <= DOCSTRING_LINES_MAX:
        yield f"{source.path}: opens with {lines} lines of docstring, not with 1 to {DOCSTRING_LINES_MAX}"


def banners(source: Source) -> Iterator[str]:
    if BANNER.search(source.text):
        yield f"{source.path}: a banner; a file that needs one is two files"


def dangerous_code(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Call):
            yield from dangerous_call(source, node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in BANNED_MODULES.intersection(names):
                yield source.at(node, f"imports {name}")


def dangerous_call(source: Source, call: ast.Call) -> Iterator[str]:
    name = dotted(call.func)
    if name in BANNED_CALLS:
        yield source.at(call, f"calls {name}")
    for keyword in call.keywords:
        is_false = isinstance(keyword.value, ast.Constant) and not keyword.value.value
        if keyword.arg == "shell" and not is_false:
            yield source.at(call, "starts a shell")


def test_every_module_opens_with_a_short_docstring():
    assert list(poor_opening(sample("x = 1\n")))
    assert list(poor_opening(sample('"""' + "line\n" * 13 + '"""\n')))
    assert not list(poor_opening(sample('"""What it owns."""\n')))
    assert findings(poor_opening, sources()) == []


def test_no_module_is_divided_by_banners():
    assert list(banners(sample("# ------\n")))
    assert not list(banners(sample("# a -- b\n")))
    assert findings(banners, sources()) == []


def test_the_engine_never_unpickles_evaluates_or_starts_a_shell():
    assert list(dangerous_code(sample("import pickle\n")))
    assert list(dangerous_code(sample("from marshal import loads\n")))
    assert list(dangerous_code(sample("subprocess.run('ls', shell=True)\n")))
    assert list(dangerous_code(sample("eval('1')\n")))
    assert not list(dangerous_code(sample("connection.exec(1)\nrun([], shell=False)\n")))
    assert findings(dangerous_code, sources("src")) == []
