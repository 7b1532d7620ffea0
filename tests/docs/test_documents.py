"""The documents' code runs, and prints what they show."""

import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from leasehold.store.db import migrate
from tests.support.processes.fork_server import run_module

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`((?:[\w.-]+/)+(?:[\w.-]+\.(?:py|sql|md|toml))?)`")
PRINTED = re.compile(r"^\s*print\(.*\)\s+# (.*)$", re.MULTILINE)


def blocks():
    """Yield every Python block of every document, with each database that it is for."""
    for document in DOCUMENTS:
        for number, block in enumerate(BLOCK.findall(document.read_text(encoding="utf-8")), 1):
            for dialect in ["postgres"] if "LEASEHOLD_URL=postgresql://" in block else ["sqlite", "postgres"]:
                yield pytest.param(block, dialect, id=f"{document.relative_to(ROOT)}-{number}-{dialect}")


@pytest.mark.parametrize(("block", "dialect"), list(blocks()))
def test_a_code_block_of_the_documents_runs_and_prints_what_it_shows(block, url, tmp_path):
    (tmp_path / "block.py").write_text(block, encoding="utf-8")
    ran = run_module("block", cwd=tmp_path, env=os.environ | {"LEASEHOLD_URL": url})
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == PRINTED.findall(block)


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_that_a_document_names_exists(name):
    """A path is below the root, or below the package."""
    assert PATH.findall("`store/db/` and `pyproject.toml` and `a/b.py`") == ["store/db/", "a/b.py"]
    named = PATH.findall((ROOT / name).read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "src/leasehold"))] == []


def test_the_code_map_has_the_layers_that_are_enforced():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    shown = " → ".join(layers).replace("(", "").replace(")", "")
    assert shown in " ".join((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split())


def test_the_tutorial_shows_the_schema_version_of_today():
    shown = re.findall(
        r"^schema version 0 -> (\d+)$", (ROOT / "docs/tutorial.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert shown == [str(migrate.latest("postgres"))]


def test_the_readme_shows_code_within_its_first_120_words():
    before, _, _ = (ROOT / "README.md").read_text(encoding="utf-8").partition("```python")
    assert len(before.split()) <= 120


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs_to_its_end(example, url, tmp_path):
    shutil.copy(example, tmp_path)
    ran = run_module(example.stem, cwd=tmp_path, env=os.environ | {"LEASEHOLD_URL": url})
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("DONE ")


def test_the_index_of_the_documents_leads_to_every_page():
    index = ROOT / "docs" / "README.md"
    linked = set(re.findall(r"\]\(([^)#]+)", index.read_text(encoding="utf-8")))
    pages = {str(page.relative_to(index.parent)) for page in index.parent.rglob("*.md") if page != index}
    assert pages - linked == set()


def test_a_word_of_the_glossary_has_one_row():
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    words = [word for row in rows if row not in {"word", "---"} for word in row.split(", ")]
    assert len(words) > 100
    assert sorted(word for word in set(words) if words.count(word) > 1) == []


def test_a_class_of_the_glossary_exists():
    named = re.findall(
        r"^\| [^|]+ \| `([A-Z]\w+)` \|", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    known = set(re.findall(r"^class (\w+)", source, re.MULTILINE))
    assert "Notifier" in named
    assert set(named) - known == set()
