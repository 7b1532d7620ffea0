"""Small enough to read: files, functions, classes, branches and nesting keep their limits."""

import ast
from collections.abc import Iterator

from tests.tidy.tree import Function, Source, findings, sample, sources

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
PUBLIC_METHODS_MAX = 12
BRANCHES_MAX = 8
NESTING_MAX = 3

BRANCH = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
BLOCK = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Match)
SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def long_file(source: Source) -> Iterator[str]:
    lines = len(source.text.splitlines())
    if lines > FILE_LINES_MAX:
        yield f"{source.path}: {lines} lines, at most {FILE_LINES_MAX}"


def long_functions(source: Source) -> Iterator[str]:
    for function in source.functions():
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            yield source.at(function, f"{function.name} has {lines} lines, at most {FUNCTION_LINES_MAX}")


def wide_classes(source: Source) -> Iterator[str]:
    for klass in source.classes():
        public = [node.name for node in klass.body if isinstance(node, Function) and not node.name.startswith("_")]
        if len(public) > PUBLIC_METHODS_MAX:
            yield source.at(klass, f"{klass.name} has {len(public)} public methods, at most {PUBLIC_METHODS_MAX}")


def branchy_functions(source: Source) -> Iterator[str]:
    for function in source.functions():
        branches = sum(isinstance(node, BRANCH) for node in own_nodes(function))
        if branches > BRANCHES_MAX:
            yield source.at(function, f"{function.name} has {branches} branches, at most {BRANCHES_MAX}")


def nested_functions(source: Source) -> Iterator[str]:
    for function in source.functions():
        depth = nesting(function)
        if depth > NESTING_MAX:
            yield source.at(function, f"{function.name} nests {depth} deep, at most {NESTING_MAX}")


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is inside a function but not inside a function or class of its own."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, SCOPE):
            yield child
            yield from own_nodes(child)


def nesting(node: ast.AST) -> int:
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, SCOPE):
            opens = isinstance(child, BLOCK) and not is_elif(node, child)
            deepest = max(deepest, nesting(child) + opens)
    return deepest


def is_elif(parent: ast.AST, child: ast.AST) -> bool:
    return isinstance(parent, ast.If) and isinstance(child, ast.If) and parent.orelse == [child]


def test_no_file_is_longer_than_four_hundred_lines():
    assert list(long_file(sample("x = 1\n" * 401)))
    assert not list(long_file(sample("x = 1\n" * 400)))
    assert findings(long_file, sources()) == []


def test_no_function_is_longer_than_fifty_lines():
    assert list(long_functions(sample("def f():\n" + "    x = 1\n" * 50)))
    assert not list(long_functions(sample("def f():\n" + "    x = 1\n" * 49)))
    assert findings(long_functions, sources()) == []


def test_no_class_has_more_than_twelve_public_methods():
    methods = "".join(f"    def m{number}(self): ...\n" for number in range(13))
    assert list(wide_classes(sample("class C:\n" + methods)))
    assert not list(wide_classes(sample("class C:\n" + methods.replace("m12", "_m12"))))
    assert findings(wide_classes, sources()) == []


def test_no_function_has_more_than_eight_branches():
    branches = "".join(f"    if x == {number}: pass\n" for number in range(9))
    assert list(branchy_functions(sample("def f(x):\n" + branches)))
    assert not list(branchy_functions(sample("def f(x):\n    def g(x):\n        pass\n" + branches[:-18])))
    assert findings(branchy_functions, sources()) == []


def test_no_function_nests_deeper_than_three_blocks():
    deep = "def f(x):\n if x:\n  for y in x:\n   with y:\n    while y: pass\n"
    assert list(nested_functions(sample(deep)))
    flat = "def f(x):\n if x: pass\n elif x: pass\n elif x: pass\n elif x: pass\n"
    assert not list(nested_functions(sample(flat)))
    assert findings(nested_functions, sources()) == []
