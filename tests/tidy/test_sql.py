"""SQL lives in files below the store: one statement a file, the same in both dialects, never built."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import PACKAGE, ROOT, Source, findings, sample, sources, strings

STATEMENTS = ROOT / PACKAGE / "store" / "sql"
PIPELINES = ROOT / PACKAGE / "pipelines"
DIALECTS = ("sqlite", "postgres")
STATEMENT = re.compile(r"\s*(SELECT|INSERT INTO|INSERT OR|UPDATE|DELETE FROM|CREATE|ALTER|DROP|WITH) ")
SQL_AT_HOME = (PACKAGE / "store", PACKAGE / "testing")
QUOTED_OR_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"|(\$\w*\$).*?\1", re.DOTALL)
PARAMETERS = {
    "sqlite": re.compile(r"(?<![:\w]):([a-z_]\w*)"),
    "postgres": re.compile(r"%\((\w+)\)[sbt]"),
}
POSITIONAL = {"sqlite": re.compile(r"\?"), "postgres": re.compile(r"%[sbt]\b")}
PLACEHOLDER = re.compile(r"\{\w*\}")
MIGRATION = re.compile(r"(\d{4})_[a-z][a-z0-9_]*\.sql")


def bare(text: str) -> str:
    """Return SQL without comments and quoted text."""
    return QUOTED_OR_COMMENT.sub(" ", text)


def statement_count(text: str) -> int:
    return sum(bool(statement.strip()) for statement in bare(text).split(";"))


def poor_heading(name: str, text: str) -> Iterator[str]:
    first = text.partition("\n")[0]
    if not re.fullmatch(rf"-- {re.escape(name)}: \S.*\.", first):
        yield f"{name}.sql opens with {first!r}, not with '-- {name}: one sentence.'"


def poor_shape(dialect: str, name: str, text: str) -> Iterator[str]:
    several = statement_count(text) > 1
    explained = text.count("\n") > 1 and text.splitlines()[1].startswith("-- ")
    if statement_count(text) == 0:
        yield f"{dialect}/{name}.sql holds no statement"
    if several and dialect == "postgres":
        yield f"{dialect}/{name}.sql holds more than one statement"
    if several and not explained:
        yield f"{dialect}/{name}.sql holds several statements and no second line that says why"


def string_building(dialect: str, name: str, text: str) -> Iterator[str]:
    if PLACEHOLDER.search(bare(text)) or POSITIONAL[dialect].search(bare(text)):
        yield f"{dialect}/{name}.sql has a place for text or for an unnamed parameter"


def parameters(dialect: str, text: str) -> set[str]:
    return set(PARAMETERS[dialect].findall(bare(text)))


def stray_sql(source: Source) -> Iterator[str]:
    if source.path.is_relative_to(SQL_AT_HOME[0]) or source.path.is_relative_to(SQL_AT_HOME[1]):
        return
    for text in strings(source):
        if STATEMENT.match(str(text.value)):
            yield source.at(text, "SQL outside the store")


def built_sql(source: Source) -> Iterator[str]:
    for node in source.nodes:
        match node:
            case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]) if STATEMENT.match(text):
                yield source.at(node, "SQL in an f-string")
            case ast.BinOp(op=ast.Mod() | ast.Add(), left=ast.Constant(value=str(text))) if STATEMENT.match(text):
                yield source.at(node, "SQL built with an operator")
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")) if STATEMENT.match(
                text
            ):
                yield source.at(node, "SQL built with format")


def statements(dialect: str) -> dict[str, str]:
    folder = STATEMENTS / dialect
    paths = (path for path in folder.rglob("*.sql") if "migrations" not in path.relative_to(folder).parts)
    return {str(path.relative_to(folder).with_suffix("")): path.read_text() for path in paths}


def pipeline_statements() -> list[tuple[str, Path, str]]:
    """Return the SQL of pipelines: in folders named after a dialect, or else SQLite's."""
    paths = sorted(path for path in PIPELINES.glob("*/sql/**/*.sql") if path.parent.name != "migrations")
    return [("postgres" if "postgres" in path.parts else "sqlite", path, path.read_text()) for path in paths]


def migration_folders(dialect: str) -> list[Path]:
    """Return the engine's and those of pipelines that have tables of their own."""
    return [STATEMENTS / dialect / "migrations", *sorted(PIPELINES.glob(f"*/sql/*/{dialect}/migrations"))]


def migrations(dialect: str) -> list[list[str]]:
    return [sorted(path.name for path in folder.iterdir()) for folder in migration_folders(dialect)]


def misnumbered(names: list[str]) -> Iterator[str]:
    for number, name in enumerate(names, start=1):
        matched = MIGRATION.fullmatch(name)
        if matched is None or int(matched[1]) != number:
            yield f"{name} should be {number:04}_name.sql"


# What one database has and the other has not: COPY and what it needs to know before; NOTIFY, poolers and a clock of its
# own; pragmas, tables between two steps, and a clock that is kept in the file.
ONLY = {
    "postgres": {
        *(f"tasks/{name}" for name in ("reserve_ids", "copy_task", "copy_ready", "copy_event")),
        *(
            f"session/{name}"
            for name in ("backend", "home", "listen", "notify", "notify_all", "pooled", "show", "utf8")
        ),
        *(f"session/{name}" for name in ("manual_clock", "manual_clock_exists", "manual_clock_set")),
    },
    "sqlite": {
        f"session/{name}" for name in ("pragmas", "scratch", "taken", "clock_read", "clock_last", "clock_write")
    },
}


# Definitions are made in one go, whatever the database.
SEVERAL = {"schema", "migration", "session/manual_clock"}


def each_statement() -> list[tuple[str, str, str]]:
    found = [(dialect, name, text) for dialect in DIALECTS for name, text in sorted(statements(dialect).items())]
    return found + [(dialect, path.stem, text) for dialect, path, text in pipeline_statements()]


def test_sql_is_written_only_below_the_store():
    assert list(stray_sql(sample("x = 'SELECT 1'\n")))
    assert list(stray_sql(sample("x = f'UPDATE task SET a = {b}'\n")))
    assert not list(stray_sql(sample("x = 'Select a job'\ny = 'CREATED'\n")))
    assert not list(stray_sql(sample("x = 'SELECT 1'\n", path="src/leasehold/store/db/sqlite.py")))
    assert findings(stray_sql, sources("src")) == []


def test_no_statement_is_built_from_strings():
    assert list(built_sql(sample("x = f'SELECT {a}'\n")))
    assert list(built_sql(sample("x = 'SELECT %s ' % a\n")))
    assert list(built_sql(sample("x = 'SELECT {} '.format(a)\n")))
    assert not list(built_sql(sample("x = 'SELECT 1'\n")))
    assert list(string_building("postgres", "x", "SELECT %s"))
    assert list(string_building("sqlite", "x", "SELECT * FROM {table}"))
    assert not list(string_building("sqlite", "x", "SELECT '{}', '?' -- {why}?"))
    assert findings(built_sql, sources("src")) == []
    assert [finding for each in each_statement() for finding in string_building(*each)] == []


def test_both_dialects_hold_the_same_statements():
    shared = {dialect: statements(dialect).keys() - ONLY[dialect] for dialect in DIALECTS}
    assert shared["sqlite"] == shared["postgres"] != set()
    assert all(ONLY[dialect] <= statements(dialect).keys() for dialect in DIALECTS)


def test_every_statement_opens_with_its_name_and_a_sentence():
    assert list(poor_heading("claim", "-- claims: Lease tasks.\nSELECT 1"))
    assert list(poor_heading("claim", "-- claim: Lease tasks\nSELECT 1"))
    assert not list(poor_heading("claim", "-- claim: Lease tasks.\nSELECT 1"))
    assert [finding for _, name, text in each_statement() for finding in poor_heading(Path(name).name, text)] == []


def test_every_file_holds_one_statement_or_says_why_not():
    assert list(poor_shape("postgres", "x", "-- x: A.\n-- Why.\nSELECT 1;\nSELECT 2;\n"))
    assert list(poor_shape("sqlite", "x", "-- x: A.\nSELECT 1;\nSELECT 2;\n"))
    assert list(poor_shape("sqlite", "x", "-- x: A.\n"))
    assert not list(poor_shape("sqlite", "x", "-- x: A.\n-- Why.\nSELECT 1;\nSELECT 2;\n"))
    assert not list(poor_shape("postgres", "x", "-- x: A; b.\nSELECT ';' AS \"a;b\", $$ c; d $$;\n"))
    assert [finding for each in each_statement() if each[1] not in SEVERAL for finding in poor_shape(*each)] == []


def test_every_statement_takes_the_same_parameters_in_both_dialects():
    assert parameters("sqlite", "-- :no\nSELECT :a, b, ':no', :c") == {"a", "c"}
    assert parameters("postgres", "SELECT %(a)s::jsonb, '%(no)s', %(c)s") == {"a", "c"}
    sqlite, postgres = statements("sqlite"), statements("postgres")
    different = {
        name: (sorted(parameters("sqlite", sqlite[name])), sorted(parameters("postgres", postgres[name])))
        for name in sqlite.keys() & postgres.keys()
        if parameters("sqlite", sqlite[name]) != parameters("postgres", postgres[name])
    }
    assert different == {}


def test_a_pipelines_statements_are_the_same_in_both_dialects_and_take_the_same_parameters():
    found: dict[str, dict[str, set[str]]] = {}
    for dialect, path, text in pipeline_statements():
        if dialect in path.parts and path.stem != "pragmas":
            known = found.setdefault(str(path).replace(f"/{dialect}/", "/"), {})
            known[dialect] = parameters(dialect, text) - {"words"}  # which only PostgreSQL keeps in the row
    assert found
    assert all(len(known) == len(DIALECTS) and known["sqlite"] == known["postgres"] for known in found.values()), found


def test_migrations_are_numbered_without_gaps_in_both_dialects():
    assert list(misnumbered(["0001_baseline.sql", "0003_more.sql"]))
    assert list(misnumbered(["1_engine.sql"]))
    assert not list(misnumbered(["0001_baseline.sql", "0002_more.sql"]))
    assert migrations("sqlite") == migrations("postgres")
    assert len(migrations("sqlite")) > 1
    assert [wrong for names in migrations("sqlite") for wrong in misnumbered(names)] == []
