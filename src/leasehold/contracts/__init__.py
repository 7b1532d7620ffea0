"""Published contracts of rows on disk: JSON Schemas by name and major version, and what is wrong with a row.

Checking needs `pip install 'leasehold[contracts]'`; nothing here writes, and nothing is fetched from anywhere.
"""

from leasehold.contracts.contract import Contract
from leasehold.contracts.diagnostics import Diagnostic, Problem, Reason
from leasehold.contracts.refusals import ContractInvalid, ContractUnknown, FileUnreadable, RowInvalid, ValidatorMissing
from leasehold.contracts.registry import Registry, contract, published

__all__ = [
    "Contract",
    "ContractInvalid",
    "ContractUnknown",
    "Diagnostic",
    "FileUnreadable",
    "Problem",
    "Reason",
    "Registry",
    "RowInvalid",
    "ValidatorMissing",
    "contract",
    "published",
]
