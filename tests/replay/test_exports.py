"""Exports: everything needed, canonical, and without a byte that depends on the machine or the database."""

import json

import msgspec

from leasehold.model.journal.record import RecordCodec
from tests.replay.recorder import JOBS

# What every task has, or has had: nothing of these may depend on where it ran.
OF_A_MACHINE = ("/work", "/home", "/tmp", "File \\", "site-packages", "pid", "host")


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def nulls(value, path="$") -> list[str]:
    if isinstance(value, dict):
        return [found for name, child in value.items() for found in nulls(child, f"{path}.{name}")]
    return [path] if value is None else []


def test_the_same_steps_export_the_same_bytes_from_sqlite_and_postgresql(both_records):
    """S8: the record does not show which database it came from."""
    sqlite, postgres = both_records["sqlite"], both_records["postgres"]
    assert {path.stem for path in sqlite.all()} == set(JOBS)
    for path in sqlite.all():
        assert path.read_bytes() == postgres[path.stem].read_bytes(), path.stem


def test_every_line_is_canonical_json_with_absent_fields_left_out(records):
    encoder = msgspec.json.Encoder(order="sorted")
    for path in records.all():
        for raw in path.read_bytes().splitlines():
            fields = msgspec.json.decode(raw)
            assert encoder.encode(fields) == raw
            assert nulls({name: value for name, value in fields.items() if name not in ("output", "result")}) == []


def test_a_record_holds_no_path_no_process_and_no_number_of_a_database(records):
    for path in records.all():
        text = path.read_text(encoding="utf-8")
        assert [word for word in OF_A_MACHINE if word in text] == [], path.stem
    film = lines(records["film"])
    assert {line["task"] for line in film if "task" in line} == set(range(8))
    assert {line["worker"] for line in film if "worker" in line} == {1, 2}


def test_a_record_holds_the_whole_job_task_by_task(records):
    film = lines(records["film"])
    tasks = [(line.get("stage"), line.get("segment"), line.get("after")) for line in film if line["line"] == "task"]
    assert tasks == [
        (None, None, None),
        ("script", None, None),
        ("audio", None, ["script"]),
        ("audio", 0, None),
        ("audio", 1, None),
        ("audio", 2, None),
        ("poster", None, ["script"]),
        ("render", None, ["audio", "poster"]),
    ]
    assert [line["item"] for line in film if "item" in line] == ["scene 0", "scene 1", "scene 2"]
    outputs = {(line["task"], line["status"]): line.get("output") for line in film if line["line"] == "outcome"}
    assert outputs[7, "DONE"] == {"length": 21, "poster": None}
    order = lines(records["order"])
    assert [line["kind"] for line in order if line["line"] == "effect"] == ["RESERVE", "PAY", "BOOK"]
    (delivery,) = [line for line in order if line["line"] == "delivery"]
    assert (delivery["recipient"], delivery["message"]) == ("ada@example.org", {"text": "Danke für Kaffee ☕"})
    (letter,) = [line for line in lines(records["refuse"]) if line["line"] == "letter"]
    assert (letter["error_class"], letter["state"]) == ("ORDER_REFUSED", "open")
    assert order[-1]["line"] == "end"


def test_each_hash_covers_its_line_and_all_before_it(records):
    codec = RecordCodec()
    for raw in records["film"].read_bytes().splitlines(keepends=True):
        codec.decode(raw)
        assert json.loads(raw)["hash"] == codec.head
