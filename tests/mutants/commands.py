"""Mutants of the command line and of what is refused before it runs."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

FOLDER = "tests/cli/test_working_folder.py"
READING = "tests/cli/test_reading.py"
PIPELINES = "tests/app/test_pipelines.py"
REFUSALS = "tests/app/test_refusals.py"

MUTANTS: Final = (
    Mutant(
        "the workers of a pipeline import from the working folder",
        "cli/options.py",
        'module_name.partition(".")[0] != PACKAGE and (here',
        "(here",
        (f"{FOLDER}::test_translate_runs_no_code_that_lies_next_to_the_document", FOLDER),
    ),
    Mutant(
        "a command that reads makes a schema",
        "cli/options.py",
        "app.store.require_schema()",
        "app.store.prepare()",
        (f"{READING}::test_a_command_that_reads_makes_neither_a_file_nor_a_schema", READING),
    ),
    Mutant(
        "a foreign SQLite file is opened like one of ours before it is looked at",
        "store/__init__.py",
        "if self.database.dialect.exists() else 0",
        "",
        (f"{READING}::test_a_file_that_is_not_ours_is_read_and_left_as_it_is", READING),
    ),
    Mutant(
        "a nested fan-out is accepted",
        "model/graph.py",
        "if stages[stage.after[0]].each is not None:",
        "if False:",
        (f"{PIPELINES}::test_a_fan_out_that_can_never_have_a_list_is_refused_when_it_is_written", PIPELINES),
    ),
    Mutant(
        "a kind is published without its fields",
        "app/kinds.py",
        "            fields=handler.fields,\n        )\n",
        "        )\n",
        (f"{REFUSALS}::test_a_handler_known_elsewhere_refuses_wrong_arguments_at_the_submit", REFUSALS),
    ),
)
