"""What the house rules read: the files of this repository, and Python files with their syntax trees.

A rule is a function from a source to its findings, so each is tried on a bad sample as well as on the tree.
"""

import ast
import functools
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/leasehold")
UNTRACKED_FOLDERS = {".git", ".venv", "__pycache__", "dist", "build", ".peers"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file; `path` is relative to the repository."""

    path: Path
    text: str

    @property
    def tree(self) -> ast.Module:
        return _parse(self.text)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree: it is walked once for all rules."""
        return _walk(self.text)

    @property
    def module(self) -> str:
        parts = self.path.relative_to("src").with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in self.nodes if isinstance(node, ast.ClassDef))

    def at(self, node: ast.stmt | ast.expr | ast.arg | ast.alias, words: str) -> str:
        return f"{self.path}:{node.lineno}: {words}"


Rule = Callable[[Source], Iterable[str]]


@functools.cache
def files() -> tuple[Path, ...]:
    """Return every file that is or would be committed, relative to the repository."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return _walked()  # an unpacked archive
    paths = {Path(name) for name in listed.split("\0") if name}
    return tuple(sorted(path for path in paths if (ROOT / path).is_file()))


def sources(*folders: str) -> list[Source]:
    """Return the Python files below these folders, or all of them."""
    return [
        _read(path)
        for path in files()
        if path.suffix == ".py" and (not folders or any(path.is_relative_to(folder) for folder in folders))
    ]


def findings(rule: Rule, among: Iterable[Source]) -> list[str]:
    return [finding for source in among for finding in rule(source)]


def sample(text: str, path: str = "src/leasehold/sample.py") -> Source:
    return Source(Path(path), text)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for such an expression, and an empty string for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else node.attr
    return ""


def docstrings(source: Source) -> set[int]:
    """Return the identities of the constants that are docstrings."""
    owners = (node for node in source.nodes if isinstance(node, ast.Module | ast.ClassDef | Function))
    firsts = (owner.body[0] for owner in owners if owner.body)
    return {id(first.value) for first in firsts if isinstance(first, ast.Expr)}


def strings(source: Source) -> Iterator[ast.Constant]:
    """Return the string literals of a file that are not docstrings."""
    skipped = docstrings(source)
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node


@functools.cache
def _read(path: Path) -> Source:
    return Source(path, (ROOT / path).read_text())


@functools.cache
def _walk(text: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_parse(text)))


@functools.cache
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def _walked() -> tuple[Path, ...]:
    every = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return tuple(sorted(path for path in every if not UNTRACKED_FOLDERS & set(path.parts)))
