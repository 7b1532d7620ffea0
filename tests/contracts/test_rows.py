"""Rows one at a time and files of rows: the consumer's rules, what stands in a diagnostic, and hostile bytes."""

import json
import os
import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leasehold.contracts import (
    ContractUnknown,
    Diagnostic,
    FileUnreadable,
    Reason,
    RowInvalid,
    check_rows,
    encode_row,
    published,
    read_rows,
    validate,
)
from leasehold.contracts.registry import Consumer
from leasehold.contracts.validate_blocks import BLOCK_BYTES, FEW, ROW_BYTES_MAX, blocks, check_block, parse_row
from tests.contracts.samples import NAMES, full, lines

NAME = "paragraph_state_row"
GOOD = lines(full(NAME)).rstrip(b"\n")


@pytest.fixture
def found(tmp_path):
    """Checks a file of these bytes: `found(b"{}")` returns line, path and code of every problem."""

    def check(text, name=NAME):
        path = tmp_path / "rows.jsonl"
        path.write_bytes(text)
        return [(each.line, each.path, each.code) for each in check_rows(path, name)]

    return check


def test_rule_1_a_row_without_a_version_is_refused_for_that_alone(found):
    row = full(NAME) | {"extra": 1}
    del row["schema_version"]
    assert found(lines(row)) == [(1, "$.schema_version", Reason.SCHEMA_VERSION_MISSING)]


@pytest.mark.parametrize("version", ["0.9.0", "2.0.0", "10.0.0", "01.0.0", "9" * 1000 + ".0.0"])
def test_rule_2_a_row_of_a_major_that_nobody_reads_is_refused_for_that_alone(found, version):
    row = full(NAME) | {"schema_version": version, "extra": 1}
    assert found(lines(row)) == [(1, "$.schema_version", Reason.SCHEMA_VERSION_UNSUPPORTED)]


@pytest.mark.parametrize("version", ["1", "1.0", "one", "1.0.0\n", "1.٣.0", "", None, 1, True, [], {}])
def test_a_version_that_is_none_is_invalid_rather_than_unsupported(found, version):
    row = full(NAME) | {"schema_version": version}
    assert found(lines(row)) == [(1, "$.schema_version", Reason.SCHEMA_VERSION_INVALID)]


@pytest.mark.parametrize("version", ["1.0.0", "1.0.7", "1.42.0"])
def test_rule_3_every_version_of_major_one_is_read_by_the_same_files(found, version):
    assert found(lines(full(NAME) | {"schema_version": version})) == []
    assert found(lines(full(NAME) | {"schema_version": version, "extra": 1})) == [(1, "$.extra", Reason.FIELD_UNKNOWN)]


def test_rule_4_every_unknown_field_is_named_up_to_a_number(found):
    assert sorted(found(lines(full(NAME) | {"b": 1, "a": 2}))) == [
        (1, "$.a", Reason.FIELD_UNKNOWN),
        (1, "$.b", Reason.FIELD_UNKNOWN),
    ]
    many = found(lines(full(NAME) | {f"f{number}": 1 for number in range(1000)}))
    assert 10 <= len(many) <= 100


def test_a_diagnostic_names_file_line_path_and_reason_and_quotes_no_value(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines(full(NAME), full(NAME) | {"state": "hunter22"}))
    (diagnostic,) = check_rows(path, NAME)
    assert diagnostic == Diagnostic(str(path), 2, "$.state", Reason.VALUE_INVALID, diagnostic.message)
    assert str(diagnostic).startswith(f"{path}:2 $.state VALUE_INVALID: the value is not one of ")
    assert "hunter22" not in diagnostic.message


def test_long_and_odd_names_of_fields_are_cut_and_quoted(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines(full(NAME) | {"x" * 100_000: 1}, full(NAME) | {"a b\n": 1}))
    first, second = check_rows(path, NAME)
    assert len(first.path) <= 200
    assert len(str(first)) < 1_000
    assert second.path == "$['a b\\n']"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", Reason.JSON_INVALID),
        (b"   ", Reason.JSON_INVALID),
        (b"{", Reason.JSON_INVALID),
        (b"nonsense", Reason.JSON_INVALID),
        (b"{} {}", Reason.JSON_INVALID),
        (GOOD + b" x", Reason.JSON_INVALID),
        (b"\xef\xbb\xbf" + GOOD, Reason.JSON_INVALID),
        (GOOD.replace(b'"attempt": 1', b'"attempt": NaN'), Reason.JSON_INVALID),
        (GOOD.replace(b'"attempt": 1', b'"attempt": 1e999'), Reason.JSON_INVALID),
        (GOOD.replace(b"Ana", b"\\ud800"), Reason.JSON_INVALID),
        (b"[" * 100_000, Reason.JSON_INVALID),
        (b'{"a":' * 900 + b"1" + b"}" * 900, Reason.SCHEMA_VERSION_MISSING),
        (GOOD.replace(b'"Ana"', b"[" * 900 + b"]" * 900), Reason.VALUE_INVALID),
        (b"[]", Reason.VALUE_INVALID),
        (b"null", Reason.VALUE_INVALID),
        (b'"1.0.0"', Reason.VALUE_INVALID),
        (GOOD.replace(b"Ana", b"\xff"), Reason.ENCODING_INVALID),
        (GOOD.replace(b"Ana", b"\xed\xa0\x80"), Reason.ENCODING_INVALID),
        (b"\x00\x01\x80", Reason.ENCODING_INVALID),
        (b'{"attempt": 1, ' + GOOD[1:], Reason.FIELD_DUPLICATE),
        (b'{"attempt" : 1, ' + GOOD[1:], Reason.FIELD_DUPLICATE),
        (b'{"attempt"\t:1,' + GOOD[1:], Reason.FIELD_DUPLICATE),
        (b'{"attempt"\r:1,' + GOOD[1:], Reason.FIELD_DUPLICATE),
        (b'{"\\u0061ttempt":1,' + GOOD[1:], Reason.FIELD_DUPLICATE),
        (b'{"attempt":{"a":1},' + GOOD[1:], Reason.FIELD_DUPLICATE),
        (b'{"attempt":1,' + GOOD[1:].replace(b"Ana", b"\\u0022:"), Reason.FIELD_DUPLICATE),
        (b'{"attempt":1,' + GOOD[1:].replace(b"Ana", b'a\\":b'), Reason.FIELD_DUPLICATE),
        (b'{"attempt":1,' + GOOD[1:].replace(b"Ana", b'a\\"\\u003ab'), Reason.FIELD_DUPLICATE),
        (b'{"attempt":1,' + GOOD[1:].replace(b"Ana", b'a\\"\\u003Ab'), Reason.FIELD_DUPLICATE),
    ],
)
def test_a_line_that_is_no_row_is_refused_and_its_neighbours_are_not(found, line, code):
    assert [(number, reason) for number, _, reason in found(GOOD + b"\n" + line + b"\n" + GOOD + b"\n")] == [(2, code)]


@pytest.mark.parametrize("name", ["paragraph_scores_row", "normalized_review_row"])
def test_a_field_that_stands_twice_inside_a_value_is_found(found, name):
    inner = {"paragraph_scores_row": b'"scores": {', "normalized_review_row": b'"span": {'}[name]
    field = {"paragraph_scores_row": b'"fluency": 0, ', "normalized_review_row": b'"length": 0, '}[name]
    good = lines(full(name))
    assert found(good, name) == []
    assert found(good.replace(inner, inner + field), name) == [(1, "$", Reason.FIELD_DUPLICATE)]


def test_values_that_look_like_fields_raise_no_false_alarm(found):
    texts = ('a": b', '":":":', "a : b", '\\":', "\u2028", "x\r:y")
    assert found(lines(*(full(NAME) | {"notes": text} for text in texts))) == []
    assert found(GOOD.replace(b"Ana", b"\\u0022:")) == []
    assert found(GOOD.replace(b"Ana", b'\\"\\u003a')) == []


@pytest.mark.parametrize("end", [b"\n", b"", b"\r\n"])
def test_the_last_line_counts_however_it_ends(found, end):
    assert found(GOOD + b"\n" + GOOD + end) == []
    assert found(GOOD + b"\n{}" + end) == [(2, "$.schema_version", Reason.SCHEMA_VERSION_MISSING)]


def test_an_empty_file_has_no_rows_and_no_problems(found, tmp_path):
    assert found(b"") == []
    assert list(read_rows(tmp_path / "rows.jsonl", NAME)) == []


def test_a_row_may_have_a_mebibyte_and_not_a_byte_more(found):
    filler = ROW_BYTES_MAX - len(GOOD)
    assert found(GOOD + b" " * filler + b"\n" + GOOD) == []
    assert found(GOOD + b" " * (filler + 1) + b"\n" + GOOD) == [(1, "$", Reason.ROW_TOO_LARGE)]
    assert found(GOOD + b"\n" + b"x" * (5 * ROW_BYTES_MAX)) == [(2, "$", Reason.ROW_TOO_LARGE)]


def test_a_line_of_a_gigabyte_costs_little_memory(tmp_path):
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.truncate(1024**3)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + GOOD + b"\n{}\n")
    code = "import resource, sys\nfrom leasehold.contracts import check_rows\n"
    code += "resource.setrlimit(resource.RLIMIT_AS, (700 * 1024**2,) * 2)\n"
    code += "print(*check_rows(*sys.argv[1:]), sep='\\n')"
    command = [sys.executable, "-c", code, str(path), NAME]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert [line.partition(" ")[0] for line in ran.stdout.splitlines()] == [f"{path}:1", f"{path}:3"], ran.stderr
    assert "ROW_TOO_LARGE" in ran.stdout


@given(st.lists(st.binary(max_size=40).map(lambda text: text.replace(b"\n", b" "))), st.integers(1, 7), st.booleans())
def test_lines_are_the_same_however_the_bytes_arrive(texts, size, has_end):
    whole = b"\n".join(texts) + (b"\n" if has_end and texts else b"")
    pieces = iter([whole[start : start + size] for start in range(0, len(whole), size)])
    found = [
        (number, line)
        for first, text in blocks(lambda _: next(pieces, b""))
        for number, line in enumerate(text.split(b"\n"), first)
    ]
    expected = whole.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert found == list(enumerate(expected, 1))


def mangled():
    """Lines as a bad disk or a bad program would leave them."""
    good = st.sampled_from([lines(full(NAME) | {"notes": text}).rstrip() for text in ("", 'a": b', "ñ :", "\\")])
    cut = st.tuples(good, st.integers(0, 400), st.integers(0, 8), st.binary(max_size=6)).map(
        lambda parts: parts[0][: parts[1]] + parts[3] + parts[0][parts[1] + parts[2] :]
    )
    return st.one_of(good, cut, st.binary(max_size=60)).map(lambda line: line.replace(b"\n", b" "))


@given(st.lists(mangled(), min_size=1, max_size=4))
@example([b'{"attempt":2,' + GOOD[1:]])
def test_the_fast_way_admits_exactly_what_the_slow_way_admits(texts):
    """Each line alone may go the fast way; a neighbour forces it to go the slow one."""
    consumer = Consumer(published(), NAME)
    together = check_block(1, b"\n".join([*texts, b"never a row"]), consumer)
    alone = [check_block(1, text, consumer) for text in texts]
    assert together.rows == [row for each in alone for row in each.rows]
    assert all(each.rows == [] or isinstance(parse_row(text), dict) for each, text in zip(alone, texts, strict=True))


@given(st.lists(mangled(), min_size=1, max_size=6), st.integers(0, 3 * FEW), st.integers(0, 3 * FEW))
def test_what_is_wrong_is_found_wherever_it_stands_in_a_block(texts, before, after):
    consumer = Consumer(published(), NAME)
    checked = check_block(1, b"\n".join([*[GOOD] * before, *texts, *[GOOD] * after]), consumer)
    alone = {number: check_block(number, text, consumer) for number, text in enumerate(texts, before + 1)}
    assert checked.refused == [each for one in alone.values() for each in one.refused]
    is_refused = {number for number, one in alone.items() if one.refused}
    assert list(checked.lines) == [n for n in range(1, before + len(texts) + after + 1) if n not in is_refused]
    assert len(checked.rows) == len(checked.lines)


def test_numbers_of_lines_hold_beyond_the_first_block(found):
    many = 3 * BLOCK_BYTES // len(GOOD)
    assert found((GOOD + b"\n") * many + b"{}\n" + GOOD) == [
        (many + 1, "$.schema_version", Reason.SCHEMA_VERSION_MISSING)
    ]


def test_a_reader_yields_rows_and_ends_with_the_first_that_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines(full(NAME), full(NAME)))
    assert list(read_rows(path, NAME)) == [full(NAME)] * 2
    path.write_bytes(lines(full(NAME), {}))
    with pytest.raises(RowInvalid) as refused:
        list(read_rows(path, NAME))
    assert [(each.line, each.code) for each in refused.value.diagnostics] == [(2, Reason.SCHEMA_VERSION_MISSING)]


def links(path):
    path.symlink_to(__file__)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda path: None, Reason.FILE_MISSING),
        (links, Reason.FILE_UNREADABLE),
        (os.mkfifo, Reason.FILE_UNREADABLE),
        (os.mkdir, Reason.FILE_UNREADABLE),
    ],
)
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path, make, code):
    path = tmp_path / "rows.jsonl"
    make(path)
    (diagnostic,) = check_rows(path, NAME)
    assert (diagnostic.line, diagnostic.code) == (None, code)
    with pytest.raises(FileUnreadable) as refused:
        list(read_rows(path, NAME))
    assert refused.value.problem.code == code


def test_a_file_of_an_unknown_contract_is_not_even_opened(tmp_path):
    with pytest.raises(ContractUnknown):
        list(check_rows(tmp_path / "rows.jsonl", "no_such_row"))


@pytest.mark.parametrize("name", NAMES)
def test_what_was_encoded_is_read_back_the_same(name, found, tmp_path):
    line = encode_row(name, full(name))
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == full(name)
    assert found(line, name) == []
    validate(name, full(name))


@pytest.mark.parametrize(
    ("row", "path", "code"),
    [
        (full(NAME) | {"extra": 1}, "$.extra", Reason.FIELD_UNKNOWN),
        (full(NAME) | {"actor": ""}, "$.actor", Reason.VALUE_INVALID),
        (full(NAME) | {"notes": "\ud800"}, "$", Reason.VALUE_INVALID),
        (full(NAME) | {"notes": "a\x00"}, "$", Reason.VALUE_INVALID),
        (full(NAME) | {"notes": b"bytes"}, "$", Reason.VALUE_INVALID),
        (full(NAME) | {"attempt": Decimal(1)}, "$", Reason.VALUE_INVALID),
        (full(NAME) | {1: 2}, "$", Reason.VALUE_INVALID),
        ({}, "$.schema_version", Reason.SCHEMA_VERSION_MISSING),
        ([], "$", Reason.VALUE_INVALID),
        (None, "$", Reason.VALUE_INVALID),
    ],
)
def test_a_writer_is_refused_before_it_writes(row, path, code):
    with pytest.raises(RowInvalid) as refused:
        validate(NAME, row)
    assert refused.value.code == "ROW_INVALID"
    assert [(each.file, each.line, each.path, each.code) for each in refused.value.diagnostics] == [
        (NAME, None, path, code)
    ]


def test_a_row_that_would_be_too_large_to_be_read_is_not_written():
    finding = full("normalized_review_row")["findings"][0] | {"message": "x" * 10_000}
    with pytest.raises(RowInvalid) as refused:
        encode_row("normalized_review_row", full("normalized_review_row") | {"findings": [finding] * 110})
    assert [each.code for each in refused.value.diagnostics] == [Reason.ROW_TOO_LARGE]
