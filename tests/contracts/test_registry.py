"""Contracts are loaded by name and major version: from the package, and from a folder with two majors side by side."""

import json
import os
import subprocess
import sys
import zipfile
from importlib.resources import files

import pytest

from leasehold.contracts import ContractInvalid, ContractUnknown, Reason, Registry, check_rows, contract, read_rows
from tests.contracts.samples import NAMES, ROOT, full, lines

AGENTS = (
    "stop_gate.vnext_plus9_manifest",
    "stop_gate_metrics",
    "scheduler_dispatch_token",
    "urm-events",
    "urm-events-summary",
    "urm-events-validate",
)
REVIEW = ("review_result",)
V1 = ROOT / "src" / "leasehold" / "schemas" / "translation_toolchain"
NAME = "paragraph_state_row"


@pytest.fixture
def both(tmp_path):
    """A registry of the published contracts and of a second major, in which `actor` became `who`."""
    folder = tmp_path / "schemas"
    (folder / "v2").mkdir(parents=True)
    for source in V1.iterdir():
        text = source.read_text(encoding="utf-8")
        (folder / source.name).write_text(text, encoding="utf-8")
        if source.name.removesuffix(".schema.json") in (NAME, "defs"):
            later = text.replace("/v1/", "/v2/").replace("^1\\\\.", "^2\\\\.").replace('"actor"', '"who"')
            (folder / "v2" / source.name).write_text(later, encoding="utf-8")
    return Registry(folder)


def second(**fields):
    row = full(NAME) | {"schema_version": "2.0.0"} | fields
    row["who"] = row.pop("actor")
    return row


def test_a_contract_is_found_by_its_name_and_major_version():
    for name in NAMES:
        found = contract(name, 1)
        assert (found.name, found.major) == (name, 1)
        assert contract(name, 1) is found


@pytest.mark.parametrize(
    ("name", "major"), [("nothing", 1), (NAME, 2), (NAME, 0), ("defs", 1), ("../defs", 1), ("", 1)]
)
def test_a_contract_that_is_not_published_is_unknown(name, major):
    with pytest.raises(ContractUnknown) as refused:
        contract(name, major)
    assert refused.value.code == "CONTRACT_UNKNOWN"
    assert NAME in str(refused.value)


def test_a_name_stands_in_one_folder_only(tmp_path):
    (tmp_path / f"{NAME}.schema.json").write_text(json.dumps({"$id": "urn:another"}))
    with pytest.raises(ContractInvalid, match=f"{NAME} stands in two folders"):
        Registry(V1, tmp_path)


def test_two_majors_are_read_side_by_side_from_one_file(both, tmp_path):
    rows = [full(NAME), second(), full(NAME) | {"schema_version": "1.7.2"}, second(schema_version="2.3.4")]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines(*rows))
    assert both.majors(NAME) == (1, 2)
    assert list(read_rows(path, NAME, registry=both)) == rows
    assert list(check_rows(path, NAME, registry=both)) == []


def test_each_row_is_judged_by_its_own_major_alone(both, tmp_path):
    path = tmp_path / "rows.jsonl"
    mixed_up = [second() | {"schema_version": "1.0.0"}, full(NAME) | {"schema_version": "2.0.0"}]
    path.write_bytes(lines(*mixed_up, second() | {"schema_version": "3.0.0"}, second()))
    found = [(each.line, each.path, each.code) for each in check_rows(path, NAME, registry=both)]
    assert found == [
        (1, "$.who", Reason.FIELD_UNKNOWN),
        (2, "$.actor", Reason.FIELD_UNKNOWN),
        (3, "$.schema_version", Reason.SCHEMA_VERSION_UNSUPPORTED),
    ]


def test_a_reader_of_one_major_version_refuses_rows_of_another_and_names_those_it_knows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines(full(NAME), second()))
    (found,) = check_rows(path, NAME)
    assert (found.line, found.code) == (2, Reason.SCHEMA_VERSION_UNSUPPORTED)
    assert found.message == "this reader knows major version 1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "\ufeff{}",
        '{"type": "object"}',
        '{"$id": "https://leasehold.example/x", "type": "nonsense"}',
        '{"$id": "https://leasehold.example/x", "pattern": "("}',
        '{"$id": "https://leasehold.example/x", "format": "no-such-format"}',
        '{"$id": "https://leasehold.example/x", "$ref": "elsewhere.schema.json"}',
        '{"$id": "https://leasehold.example/x", "$ref": "#/$defs/nothing"}',
        '{"$id": "https://leasehold.example/x", "$comment": "' + "x" * 1024 * 1024 + '"}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_schema_is_refused_with_a_reason_and_nothing_is_fetched(tmp_path, text):
    (tmp_path / "bad.schema.json").write_text(text, encoding="utf-8")
    with pytest.raises(ContractInvalid) as refused:
        Registry(tmp_path).contract("bad", 1)
    assert "bad" in str(refused.value)


def test_a_folder_without_contracts_is_refused(tmp_path):
    with pytest.raises(ContractUnknown):
        Registry(tmp_path)


def test_the_schemas_come_with_the_package():
    folder = files("leasehold").joinpath("schemas", "translation_toolchain")
    found = {entry.name: json.loads(entry.read_text(encoding="utf-8")) for entry in folder.iterdir()}
    assert set(found) == {f"{name}.schema.json" for name in (*NAMES, "defs")}
    assert (ROOT / "schemas").is_symlink()
    assert (ROOT / "schemas" / "translation_toolchain").resolve() == V1
    assert (ROOT / "spec").is_symlink()
    assert {path.name for path in (ROOT / "spec").iterdir()} == {f"{name}.schema.json" for name in AGENTS}


def test_a_wheel_carries_the_schemas_and_reads_them_from_where_it_lies(tmp_path):
    build = "import sys, uv_build; print(uv_build.build_wheel(sys.argv[1]))"
    environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}  # noqa: PTH120
    built = python(build, str(tmp_path), cwd=ROOT, env=environment)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.endswith(".schema.json")}
    folders = {"translation_toolchain": (*NAMES, "defs"), "agents": AGENTS, "review": REVIEW}
    every = [(folder, name) for folder, names in folders.items() for name in names]
    assert inside == {f"leasehold/schemas/{folder}/{name}.schema.json" for folder, name in every}
    reading = "from leasehold import contracts; print(contracts.__file__, *contracts.published().names())"
    read = python(reading, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(wheel)})
    assert read.stdout.split() == [f"{wheel}/leasehold/contracts/__init__.py", *sorted([*NAMES, *AGENTS, *REVIEW])], (
        read.stderr
    )


def test_without_the_validator_the_error_names_the_extra_and_the_rest_still_works(tmp_path):
    code = "import sys; sys.modules['jsonschema_rs'] = None\nimport leasehold.cli.root, leasehold.contracts\n"
    ran = python(code + "print(*leasehold.contracts.published().names())", cwd=tmp_path)
    assert ran.stdout.split() == sorted([*NAMES, *AGENTS, *REVIEW]), ran.stderr
    ran = python(code + "leasehold.contracts.contract('manifest', 1)", cwd=tmp_path)
    assert "ValidatorMissing: " in ran.stderr
    assert "pip install 'leasehold[contracts]'" in ran.stderr


def python(code, *words, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, timeout=120, **options
    )
