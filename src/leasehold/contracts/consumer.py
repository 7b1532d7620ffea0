"""How a consumer reads rows of one name: by the version that each carries.

1. No `schema_version`: refused. 2. A major version that nobody here reads: refused. 3. Every `1.x.y` is read by the
files of major 1, every `2.x.y` by those of major 2 where there are such. 4. Unknown fields are invalid.
"""

import re
from operator import itemgetter
from typing import Any, Final

from leasehold.contracts.contract import Contract
from leasehold.contracts.diagnostics import Problem, Reason
from leasehold.contracts.errors import ContractUnknown
from leasehold.contracts.registry import Registry

VERSION: Final = "schema_version"
_version: Final = re.compile(r"([0-9]+)\.[0-9]+\.[0-9]+\Z")
_version_of: Final = itemgetter(VERSION)


class Consumer:
    """Reads rows of one name, in every major version that the registry has of it."""

    def __init__(self, registry: Registry, name: str) -> None:
        self._contracts = {str(major): registry.contract(name, major) for major in registry.majors(name)}
        if not self._contracts:
            raise ContractUnknown(f"{name[:80]!r} is not among {', '.join(registry.names())}.")

    def admits(self, rows: list[dict[str, Any]]) -> bool:
        """Return whether all of these obey the contracts of their versions."""
        try:
            contracts = {version: self._contract(version) for version in set(map(_version_of, rows))}
        except (KeyError, TypeError):  # one has no version, or one that cannot be looked up
            return False
        distinct = set(contracts.values())
        if len(distinct) == 1:
            return _admits(distinct.pop(), rows)
        return all(_admits(each, [row for row in rows if contracts[row[VERSION]] == each]) for each in distinct)

    def problems(self, row: Any) -> list[Problem]:
        if not isinstance(row, dict):
            return [Problem("$", Reason.VALUE_INVALID, "a row is an object")]
        path = f"$.{VERSION}"
        if VERSION not in row:
            return [Problem(path, Reason.SCHEMA_VERSION_MISSING, "without it nobody knows how to read the row")]
        version = row[VERSION]
        if not isinstance(version, str) or not _version.match(version):
            return [Problem(path, Reason.SCHEMA_VERSION_INVALID, "it is MAJOR.MINOR.PATCH, such as 1.0.0")]
        contract = self._contract(version)
        if contract is None:
            read = ", ".join(self._contracts)
            return [Problem(path, Reason.SCHEMA_VERSION_UNSUPPORTED, f"this reader knows major version {read}")]
        return [] if contract.admits([row]) else contract.problems(row)

    def _contract(self, version: object) -> Contract | None:
        major = _version.match(version) if isinstance(version, str) else None
        return self._contracts.get(major[1]) if major else None


def _admits(contract: Contract | None, rows: list[dict[str, Any]]) -> bool:
    return contract is not None and contract.admits(rows)
