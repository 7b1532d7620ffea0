"""Mutants of contracts, and of how rows are read against them."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

SCHEMAS = "schemas/translation_toolchain"
OF_SCHEMAS = "tests/contracts/test_schemas.py"
OF_ROWS = "tests/contracts/test_rows.py"
OF_RUNS = "tests/contracts/test_run.py"
NO_ROW = f"{OF_ROWS}::test_a_line_that_is_no_row_is_refused_and_its_neighbours_are_not"

MUTANTS: Final = (
    Mutant(
        "an ingested paragraph may have an attempt",
        f"{SCHEMAS}/paragraph_state_row.schema.json",
        '"attempt": false',
        '"attempt": true',
        (f"{OF_SCHEMAS}::test_an_attempt_is_disallowed_for_ingested_and_required_for_every_other_state",),
    ),
    Mutant(
        "a finding may have fields that nobody knows",
        f"{SCHEMAS}/defs.schema.json",
        '"code",\n        "severity"\n      ],\n      "additionalProperties": false',
        '"code",\n        "severity"\n      ],\n      "additionalProperties": true',
        (f"{OF_SCHEMAS}::test_rule_4_unknown_fields_are_invalid_at_every_level",),
    ),
    Mutant(
        "the thirtieth of February is a day",
        "contracts/registry.py",
        "validate_formats=True",
        "validate_formats=False",
        (f"{OF_SCHEMAS}::test_a_value_that_breaks_one_constraint_is_refused_at_its_place",),
    ),
    Mutant(
        "a version may end in a line feed",
        "contracts/registry.py",
        r"\.[0-9]+\Z",
        r"\.[0-9]+$",
        (f"{OF_ROWS}::test_a_version_that_is_none_is_invalid_rather_than_unsupported",),
    ),
    Mutant(
        "a field may stand twice",
        "contracts/validate_blocks.py",
        "if not consumer.admits(rows) or _may_hold_a_field_twice(text, rows):",
        "if not consumer.admits(rows):",
        (NO_ROW,),
    ),
    Mutant(
        "a field may stand twice if one has a tab before its colon",
        "contracts/validate_blocks.py",
        r'(b" ", b"\t", b"\r")',
        r'(b" ", b"\r")',
        (NO_ROW,),
    ),
    Mutant(
        "a field may stand twice next to a quote written as a number",
        "contracts/validate_blocks.py",
        r'(b"\\u0022", b"\\u003a", b"\\u003A")',
        r'(b"\\u003a", b"\\u003A")',
        (NO_ROW,),
    ),
    Mutant(
        "a field may stand twice next to a colon written as a number",
        "contracts/validate_blocks.py",
        r'(b"\\u0022", b"\\u003a", b"\\u003A")',
        r'(b"\\u0022", b"\\u003a")',
        (NO_ROW,),
    ),
    Mutant(
        "rows of another run pass among a run's own",
        "contracts/validate_blocks.py",
        "== {of(identity)}",
        ">= {of(identity)}",
        (f"{OF_RUNS}::test_a_row_of_another_run_or_document_is_foreign",),
    ),
    Mutant(
        "lines are numbered from the last end of the block before",
        "contracts/validate_blocks.py",
        'number + text.count(b"\\n") + 1, rest',
        'number + text.count(b"\\n"), rest',
        (f"{OF_ROWS}::test_lines_are_the_same_however_the_bytes_arrive",),
    ),
    Mutant(
        "a link in a run folder is followed",
        "contracts/safe_open.py",
        "os.O_NOFOLLOW | os.O_NONBLOCK",
        "os.O_NONBLOCK",
        (f"{OF_RUNS}::test_what_is_no_regular_file_is_neither_followed_nor_waited_for",),
    ),
    Mutant(
        "a folder that is a link is followed",
        "contracts/safe_open.py",
        "os.O_NOFOLLOW | os.O_DIRECTORY",
        "os.O_DIRECTORY",
        (f"{OF_RUNS}::test_a_folder_that_is_a_link_is_not_followed",),
    ),
    Mutant(
        "a paragraph is counted where its first row left it",
        "pipelines/translate/contract_files.py",
        'self._states |= {row.get("paragraph_index"): row.get("state") for row in block.rows}',
        'self._states = {row.get("paragraph_index"): row.get("state") for row in block.rows} | self._states',
        (f"{OF_RUNS}::test_the_last_row_of_a_paragraph_counts_also_when_it_was_read_long_after_the_first",),
    ),
)
