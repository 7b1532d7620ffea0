"""What holds for every test: a sentence for a name, something asserted, no sleep, no mock, no skip without a reason."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.tidy.tree import Function, Source, dotted, findings, sample, sources, strings

WORDS_MIN = 4
PROOFS = ("assert_", "check_", "expect", "verify")
RAISES = {"pytest.raises", "pytest.warns", "pytest.RaisesGroup", "pytest.fail"}
MOCKS = re.compile(r"^(unittest\.mock|mock|pytest_mock)(\.|$)|^(unittest\.)?(Magic|Async)?Mock$")
PATCHES = {"monkeypatch.setattr", "monkeypatch.delattr", "mocker"}
SKIPS = re.compile(r"(^|\.)(skip|skipif|xfail|importorskip|skipTest|skipUnless|skipIf)$")
# The one place that skips: what is missing there has a name, a reason and a remedy.
NEEDS = Path("tests/support/needs.py")
SLEEPS = {"time.sleep", "sleep"}
SLEEP_IN_TEXT = re.compile(r"\btime\.sleep\(|\basyncio\.sleep\((?!0\))")


def sentences(source: Source) -> Iterator[Function]:
    return (function for function in source.functions() if function.name.startswith("test_"))


def short_test_names(source: Source) -> Iterator[str]:
    for function in sentences(source):
        if len(function.name.removeprefix("test_").split("_")) < WORDS_MIN:
            yield source.at(function, f"{function.name} is not a sentence")


def unproven_tests(source: Source) -> Iterator[str]:
    for function in sentences(source):
        if not any(proves(node) for node in ast.walk(function)):
            yield source.at(function, f"{function.name} asserts nothing")


def proves(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Assert)
    name = dotted(node.func)
    return name in RAISES or name.rpartition(".")[2].startswith(PROOFS) or is_wait(name)


def is_wait(name: str) -> bool:
    """`until(condition)` fails when the condition never comes true."""
    return name.rpartition(".")[2] == "until"


def sleeps(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Call) and is_sleep(node):
            yield source.at(node, "sleeps")
    for text in strings(source):
        if SLEEP_IN_TEXT.search(str(text.value)):
            yield source.at(text, "sleeps in the program of another process")


def is_sleep(call: ast.Call) -> bool:
    name = dotted(call.func)
    is_yield = len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    return name in SLEEPS or (name == "asyncio.sleep" and not is_yield)


def mocks(source: Source) -> Iterator[str]:
    for node, name in names_used(source):
        if MOCKS.search(name) or name in PATCHES:
            yield source.at(node, f"uses {name}")


def skips(source: Source) -> Iterator[str]:
    if source.path == NEEDS:
        return
    for node, name in names_used(source):
        if SKIPS.search(name) and name.startswith(("pytest", "unittest", "self.", "skip", "xfail")):
            yield source.at(node, f"uses {name}")


def names_used(source: Source) -> Iterator[tuple[ast.expr | ast.stmt | ast.arg, str]]:
    for node in source.nodes:
        match node:
            case ast.Name() | ast.Attribute():
                yield node, dotted(node)
            case ast.arg():
                yield node, node.arg
            case ast.Import():
                yield from ((node, alias.name) for alias in node.names)
            case ast.ImportFrom():
                yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)


def fixed_draws(source: Source) -> Iterator[str]:
    """Find settings of Hypothesis that a soak could not change: `tests.support.properties` has them."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "settings":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if "derandomize" in given or isinstance(given.get("max_examples"), ast.Constant):
                yield source.at(node, "fixes how examples are drawn")


def outside_tidy() -> list[Source]:
    """The samples of these very rules are the only exceptions."""
    return [source for source in sources("tests") if not source.path.is_relative_to("tests/tidy")]


def found(rule: Callable[[Source], Iterator[str]], text: str) -> bool:
    return bool(list(rule(sample(text, path="tests/test_sample.py"))))


def test_every_test_name_is_a_sentence():
    assert found(short_test_names, "def test_claim_works(): ...")
    assert not found(short_test_names, "def test_a_claim_is_counted(): ...")
    assert findings(short_test_names, sources("tests")) == []


def test_every_test_asserts_something():
    assert found(unproven_tests, "def test_x():\n    run()")
    assert not found(unproven_tests, "def test_x():\n    assert run()")
    assert not found(unproven_tests, "def test_x():\n    with pytest.raises(ValueError):\n        run()")
    assert not found(unproven_tests, "def test_x():\n    check_journal(store)")
    assert findings(unproven_tests, sources("tests")) == []


def test_no_test_sleeps_for_a_time():
    assert found(sleeps, "import time\ntime.sleep(1)")
    assert found(sleeps, "from time import sleep\nsleep(1)")
    assert found(sleeps, "await_me = asyncio.sleep(0.1)")
    assert found(sleeps, "script = 'import time; time.sleep(9)'")
    assert not found(sleeps, "coroutine = asyncio.sleep(0)")
    assert findings(sleeps, outside_tidy()) == []


def test_no_test_mocks_a_real_part():
    assert found(mocks, "from unittest.mock import patch")
    assert found(mocks, "import unittest.mock")
    assert found(mocks, "client = MagicMock()")
    assert found(mocks, "def test_x(mocker): ...")
    assert found(mocks, "def test_x(monkeypatch):\n    monkeypatch.setattr(os, 'kill', print)")
    assert not found(mocks, "def test_x(monkeypatch):\n    monkeypatch.setenv('A', 'b')")
    assert findings(mocks, outside_tidy()) == []


def test_a_test_is_skipped_only_for_a_part_that_is_missing_and_none_is_expected_to_fail():
    assert found(skips, "pytest.skip('no server')")
    assert found(skips, "@pytest.mark.skipif(True, reason='')\ndef test_x(): ...")
    assert found(skips, "@pytest.mark.xfail\ndef test_x(): ...")
    assert found(skips, "np = pytest.importorskip('numpy')")
    assert not found(skips, "cursor.skip(3)")
    assert not found(skips, "@NGINX.mark\ndef test_x(): ...")
    assert not list(skips(sample("pytest.mark.skipif(True, reason='')", path=str(NEEDS))))
    assert findings(skips, outside_tidy()) == []


def test_no_property_test_fixes_how_its_examples_are_drawn():
    assert found(fixed_draws, "@settings(derandomize=True)\ndef test_x(): ...")
    assert found(fixed_draws, "thorough = hypothesis.settings(max_examples=600)")
    assert not found(fixed_draws, "@settings(max_examples=examples(600))\ndef test_x(): ...")
    assert findings(fixed_draws, outside_tidy()) == []
