"""Problems and where they are: a closed set of reasons, a problem within a row, a diagnostic with its place; errors.

No value of a row is quoted: it may be long or confidential. Names of fields are, cut to a length.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from leasehold.errors import Misuse

NAME_SHOWN_MAX: Final = 80
PATH_SHOWN_MAX: Final = 200
MESSAGE_SHOWN_MAX: Final = 400
_plain: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Reason(StrEnum):
    """Why something was refused. Programs may match these; there are no others."""

    SCHEMA_VERSION_MISSING = "SCHEMA_VERSION_MISSING"
    SCHEMA_VERSION_INVALID = "SCHEMA_VERSION_INVALID"
    SCHEMA_VERSION_UNSUPPORTED = "SCHEMA_VERSION_UNSUPPORTED"
    FIELD_MISSING = "FIELD_MISSING"
    FIELD_UNKNOWN = "FIELD_UNKNOWN"
    FIELD_DISALLOWED = "FIELD_DISALLOWED"
    FIELD_DUPLICATE = "FIELD_DUPLICATE"
    VALUE_INVALID = "VALUE_INVALID"
    JSON_INVALID = "JSON_INVALID"
    ENCODING_INVALID = "ENCODING_INVALID"
    ROW_TOO_LARGE = "ROW_TOO_LARGE"
    ROW_DUPLICATE = "ROW_DUPLICATE"
    ID_FOREIGN = "ID_FOREIGN"
    COUNT_WRONG = "COUNT_WRONG"
    FILE_MISSING = "FILE_MISSING"
    FILE_UNREADABLE = "FILE_UNREADABLE"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a row; `path` is a JSON path, `$` the row itself."""

    path: str
    code: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem with its place; `line` is None where it is about the file as a whole."""

    file: str
    line: int | None
    path: str
    code: Reason
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place} {self.path} {self.code}: {self.message}"


def located(file: str, line: int | None, problem: Problem) -> Diagnostic:
    return Diagnostic(file, line, problem.path, problem.code, problem.message)


def json_path(steps: Sequence[str | int]) -> str:
    """Return `$.findings[0].span` for the steps to a value."""
    return clipped("$" + "".join(map(_step, steps)), PATH_SHOWN_MAX)


def clipped(text: str, most: int = NAME_SHOWN_MAX) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _plain.match(step) else f"[{clipped(step)!r}]"


class ValidatorMissing(Misuse, code="VALIDATOR_MISSING"):
    """Rows are checked by jsonschema-rs, which is not installed: pip install 'leasehold[contracts]'."""


class ContractUnknown(Misuse, code="CONTRACT_UNKNOWN"):
    """There is no contract of this name and major version; name one that is published."""


class ContractInvalid(Misuse, code="CONTRACT_INVALID"):
    """A contract is a JSON Schema of draft 2020-12 with an `$id`, whose references lead to files in its folder."""


class RunLayoutMissing(Misuse, code="RUN_LAYOUT_MISSING"):
    """No installed pipeline describes its run folders; install leasehold again, so that its entry points are found."""


class RowInvalid(Misuse, code="ROW_INVALID"):
    """The row breaks its contract; change it, or the contract together with every reader."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(str(diagnostics[0]))
        self.diagnostics = tuple(diagnostics)


class FileUnreadable(Misuse, code="FILE_UNREADABLE"):
    """The file cannot be read as rows: it is missing, not a regular file, or not to be opened."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
