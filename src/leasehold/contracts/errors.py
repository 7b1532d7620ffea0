"""The errors of the contracts: all of them are for the caller to repair."""

from collections.abc import Sequence

from leasehold.contracts.diagnostics import Diagnostic, Problem
from leasehold.errors import Misuse


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
