"""Public names are imported when they are first used, and type checkers know the same names."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import leasehold
from leasehold import errors
from leasehold.pipelines import translate

LAZY = ["leasehold", "leasehold.redact", "leasehold.pipelines.download", "leasehold.pipelines.translate"]
HEAVY = {"apsw", "asyncio", "click", "jsonschema_rs", "msgspec", "psycopg"}


def loaded(statement: str) -> set[str]:
    """Run a statement in a new interpreter; return the modules that are loaded afterwards."""
    program = f"import json, sys\n{statement}\nprint(json.dumps(list(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout))


def stub_of(package: str) -> tuple[dict[str, str], list[str]]:
    """Read the stub of a package: the module of each name that it imports, and its `__all__`."""
    tree = ast.parse(Path(str(import_module(package).__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {
        alias.name: str(node.module) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    listed = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    return imported, listed[0]


@pytest.mark.parametrize("package", LAZY)
def test_a_packages_names_are_those_of_its_stub(package):
    found = import_module(package)
    imported, listed = stub_of(package)
    assert found.__all__ == listed == sorted(listed)
    assert set(listed) <= set(imported)
    for name in listed:
        assert getattr(found, name) is getattr(import_module(imported[name]), name)
    assert set(listed) <= set(dir(found))


def test_importing_leasehold_loads_nothing_else():
    found = loaded("import leasehold")
    assert {name for name in found if name.startswith("leasehold")} == {"leasehold", "leasehold.lazy"}
    assert not found & HEAVY


def test_errors_are_imported_without_the_engine():
    found = loaded("from leasehold import Permanent, Transient")
    assert {name for name in found if name.startswith("leasehold")} == {
        "leasehold",
        "leasehold.lazy",
        "leasehold.errors",
    }
    assert not found & HEAVY


def test_the_facade_loads_no_driver_of_postgresql_and_no_command():
    assert not loaded("from leasehold import Leasehold") & {"click", "jsonschema_rs", "psycopg", "leasehold.cli"}


def test_every_name_is_found_by_a_star_import():
    names: dict[str, object] = {}
    exec("from leasehold import *", names)  # noqa: S102 — the statement is what is tested
    assert set(leasehold.__all__) <= set(names)


def test_a_name_that_is_missing_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'leasehold' has no attribute 'Leashold'"):
        leasehold.Leashold  # type: ignore[attr-defined]  # noqa: B018 — looking is what is tested


def test_the_app_of_a_worker_process_is_not_a_public_name():
    assert "app" not in translate.__all__


@pytest.mark.parametrize(
    "name", ["ArgumentsInvalid", "JobUnknown", "KindUnknown", "PayloadInvalid", "WaitTimeout", "KeyConflict"]
)
def test_an_error_that_a_caller_handles_is_a_public_name(name):
    assert getattr(leasehold, name) is getattr(errors, name)
