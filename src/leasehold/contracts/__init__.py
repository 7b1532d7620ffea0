"""Published contracts of rows on disk: JSON Schemas by name and major version, and the problems of a row.

    validate("paragraph_state_row", row)              raises RowInvalid; for a writer
    encode_row("paragraph_state_row", row)            the same, and returns the line to be written
    read_rows(path, "paragraph_state_row")            the rows of a file, or RowInvalid at the first that is refused
    check_rows(path, "paragraph_state_row")           every problem of a file, as diagnostics
    check_run(folder)                                 a whole run folder, by the layout of its pipeline

Checking needs `pip install 'leasehold[contracts]'`; nothing here writes, and nothing is fetched from anywhere.
"""

from leasehold.contracts.diagnostics import (
    ContractInvalid,
    ContractUnknown,
    Diagnostic,
    FileUnreadable,
    Problem,
    Reason,
    RowInvalid,
    RunLayoutMissing,
    ValidatorMissing,
)
from leasehold.contracts.registry import Contract, Registry, contract, published
from leasehold.contracts.rows import check_rows, encode_row, read_rows, validate
from leasehold.contracts.run import Checked, RunLayout, RunRules, check_run
from leasehold.contracts.validate_blocks import CheckedBlock

__all__ = [
    "Checked",
    "CheckedBlock",
    "Contract",
    "ContractInvalid",
    "ContractUnknown",
    "Diagnostic",
    "FileUnreadable",
    "Problem",
    "Reason",
    "Registry",
    "RowInvalid",
    "RunLayout",
    "RunLayoutMissing",
    "RunRules",
    "ValidatorMissing",
    "check_rows",
    "check_run",
    "contract",
    "encode_row",
    "published",
    "read_rows",
    "validate",
]
