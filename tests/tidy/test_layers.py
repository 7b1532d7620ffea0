"""The arrows of the design, read from the imports: they point down, and none goes round.

The layers themselves are those of the import-linter contract in pyproject.toml, so there is one list of them.
"""

import ast
import graphlib
import re
import tomllib
from collections.abc import Iterable, Iterator

from tests.tidy.tree import ROOT, Source, findings, sample, sources

ROOT_PACKAGE = "leasehold"
SHAPES = "leasehold.shapes"
ABOVE_THE_FACADE = {"pipelines", "cli", "web", "testing", "__main__"}  # these may import the public names
OUTSIDE_THE_LAYERS = {"testing", "__main__"}
PUBLIC = {
    "leasehold",
    "leasehold.batching",
    "leasehold.canonical",
    "leasehold.clock",
    "leasehold.contracts",
    "leasehold.errors",
    "leasehold.lazy",
    "leasehold.outbound",
    "leasehold.providers",
    "leasehold.redact",
    "leasehold.retry_after",
    "leasehold.runlock",
    "leasehold.shapes",
    "leasehold.sqlfiles",
    "leasehold.testing",
}
PUBLIC |= {"leasehold.process_tree", "leasehold.processes"}
SHELL = "leasehold.pipelines.shell"  # what pipelines share, built on parts of the command line
SHELL_USES = {"leasehold.cli.options", "leasehold.cli.text"}
# A pipeline may keep tables of its own, in its index or its records. apsw brings the only SQLite library of the
# process; the other is for connections that a caller has opened with it.
DRIVERS = {
    "apsw": re.compile(r"leasehold\.store\b|leasehold\.pipelines\.\w+\.(index|records)\.backends$"),
    "psycopg": re.compile(r"leasehold\.store\.db\.postgres|leasehold\.pipelines\.\w+\.(index|records)\.backends$"),
    "psycopg_pool": re.compile(r"leasehold\.store\.db\.postgres"),
    "sqlite3": re.compile(r"leasehold\.store\.db\.sqlite_borrowed$"),
}

Graph = dict[str, set[str]]


def imports(source: Source, known: set[str], *, is_nominal: bool = False) -> Iterator[str]:
    """Yield the modules that a file names in its imports, of this package or not; nominally, their packages too."""
    for node in import_nodes(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            continue
        base = absolute(source, node)
        inner = [f"{base}.{alias.name}" for alias in node.names]
        yield from (name if name in known else base for name in inner)
        if is_nominal:  # Python runs the package first
            yield base


def import_nodes(source: Source) -> Iterator[ast.Import | ast.ImportFrom]:
    return (node for node in source.nodes if isinstance(node, ast.Import | ast.ImportFrom))


def absolute(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    is_package = source.path.name == "__init__.py"
    parts = source.module.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, node.module] if node.module else base)


def graph(among: Iterable[Source], *, is_nominal: bool = False) -> Graph:
    package = list(among)
    known = {source.module for source in package}
    return {
        source.module: {name for name in imports(source, known, is_nominal=is_nominal) if name in known}
        for source in package
    }


def layers() -> dict[str, int]:
    """Return the rank of each layer's name; a higher rank may import a lower one."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return {name.strip(" ()"): rank for rank, line in enumerate(reversed(listed)) for name in line.split("|")}


def part(module: str) -> str:
    """Return `store` for leasehold.store.db.sqlite, and an empty string for the package itself."""
    return module.removeprefix(ROOT_PACKAGE).removeprefix(".").partition(".")[0]


def upward_imports(modules: Graph, ranks: dict[str, int]) -> Iterator[str]:
    for module, imported in modules.items():
        if part(module) in OUTSIDE_THE_LAYERS | {""}:
            continue
        for name in sorted(imported):
            if not may_import(part(module), part(name), ranks):
                yield f"{module} imports {name}"


def may_import(importer: str, imported: str, ranks: dict[str, int]) -> bool:
    if importer == imported:
        return True
    if imported == "":
        return importer in ABOVE_THE_FACADE
    return ranks[importer] > ranks.get(imported, len(ranks))


def cycle(modules: Graph) -> list[str]:
    try:
        graphlib.TopologicalSorter(modules).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def stray_drivers(source: Source) -> Iterator[str]:
    for name in imports(source, set()):
        home = DRIVERS.get(name.partition(".")[0])
        if home is not None and not home.match(source.module):
            yield f"{source.path}: imports {name}, which belongs in {home.pattern}"


def hasty_reading(source: Source) -> Iterator[str]:
    """Yield where JSON is read into a type that msgspec may not have met yet: two threads that do so crash."""
    if source.module == SHAPES:
        return
    for name in imports(source, set()):
        if name == "msgspec.convert":
            yield f"{source.path}: imports {name}; make a Shape at the top of the module"
    for node in source.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        is_typed = node.func.attr == "decode" and any(word.arg == "type" for word in node.keywords)
        is_converted = node.func.attr == "convert" and isinstance(node.func.value, ast.Name)
        if is_typed or (is_converted and node.func.value.id == "msgspec"):  # type: ignore[attr-defined]
            yield source.at(node, "reads into a type; make a Shape at the top of the module")


def test_nothing_is_read_into_a_type_that_msgspec_has_not_met_at_import():
    assert findings(hasty_reading, sources("src")) == []
    assert list(hasty_reading(sample("msgspec.convert({}, type=Lease)")))
    assert list(hasty_reading(sample("json.decode(text, type=Lease)")))


def private_names(source: Source) -> Iterator[str]:
    """Yield what a pipeline imports of the engine that its users could not."""
    own = ".".join(source.module.split(".")[:3])
    allowed = PUBLIC | SHELL_USES if own == SHELL else PUBLIC
    for name in imports(source, set()):
        is_shared = f"{name}.".startswith((f"{own}.", f"{SHELL}."))
        if name.partition(".")[0] == "leasehold" and name not in allowed and not is_shared:
            yield f"{source.path}: imports {name}, which is not public"


def test_pipelines_use_public_names_alone():
    path = "src/leasehold/pipelines/download/handler.py"
    assert list(private_names(sample("from leasehold.store import open_store\n", path=path)))
    assert list(private_names(sample("import leasehold.app.facade\n", path=path)))
    assert list(private_names(sample("from leasehold.pipelines.video import x\n", path=path)))
    assert list(private_names(sample("from leasehold.cli.text import count\n", path=path)))
    assert not list(private_names(sample("from leasehold.pipelines.shell.text import count\n", path=path)))
    assert not list(
        private_names(sample("from leasehold import Task\nfrom leasehold.errors import Misuse\n", path=path))
    )
    assert not list(private_names(sample("from leasehold.pipelines.download.http.urls import host_of\n", path=path)))
    assert findings(private_names, sources("src/leasehold/pipelines")) == []


def test_every_part_of_the_package_has_a_layer():
    parts = {part(source.module) for source in sources("src")} - OUTSIDE_THE_LAYERS - {""}
    assert parts <= layers().keys()


def test_no_module_imports_from_a_layer_above_it():
    ranks = {"cli": 2, "store": 1, "model": 0}
    assert list(upward_imports({"leasehold.model.task": {"leasehold.store"}}, ranks))
    assert list(upward_imports({"leasehold.store.db.sqlite": {"leasehold"}}, ranks))
    assert list(upward_imports({"leasehold.store": {"leasehold.testing.clock"}}, ranks))
    assert not list(upward_imports({"leasehold.cli": {"leasehold", "leasehold.store"}}, ranks))
    assert list(upward_imports(graph(sources("src")), layers())) == []


def test_imports_never_go_round_in_a_circle():
    first = sample("from leasehold.b import x\n", path="src/leasehold/a.py")
    second = sample("def f():\n    from leasehold import a\n", path="src/leasehold/b.py")
    assert cycle(graph([first, second])) != []
    typed = sample("if TYPE_CHECKING:\n    from leasehold import a\n", path="src/leasehold/b.py")
    assert cycle(graph([first, typed])) != []
    package = sample("from leasehold.c.d import x\n", path="src/leasehold/c/__init__.py")
    inner = sample("from leasehold.c import e\n", path="src/leasehold/c/d.py")
    assert cycle(graph([package, inner, sample("", path="src/leasehold/c/e.py")], is_nominal=True)) != []
    assert cycle(graph(sources("src"), is_nominal=True)) == []


def test_database_drivers_are_imported_only_inside_the_store():
    assert list(stray_drivers(sample("import apsw\n", path="src/leasehold/cli/operator/database.py")))
    assert list(stray_drivers(sample("from psycopg import sql\n", path="src/leasehold/store/db/sqlite.py")))
    assert list(stray_drivers(sample("import sqlite3\n", path="src/leasehold/store/db/sqlite.py")))
    assert list(stray_drivers(sample("import apsw\n", path="src/leasehold/pipelines/download/handler.py")))
    assert not list(stray_drivers(sample("import psycopg\n", path="src/leasehold/store/db/postgres.py")))
    assert findings(stray_drivers, sources("src")) == []
