"""Contracts by name and major version: those of the package, each pipeline's in a folder, or a caller's own.

The files of major 1 are in the folder itself, as the runbook has them; those of major N > 1 in `vN/` below it, so that
two majors can be read during a migration. References are resolved among these files alone.

Rows without `schema_version`, or of a major version that nobody here reads, are refused. Every `1.x.y` is read by the
files of major 1, every `2.x.y` by those of major 2 where there are such. Unknown fields are invalid.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Final, NoReturn

import msgspec

from leasehold.contracts.diagnostics import (
    MESSAGE_SHOWN_MAX,
    ContractInvalid,
    ContractUnknown,
    Problem,
    Reason,
    ValidatorMissing,
    clipped,
    json_path,
)
from leasehold.shapes import Shape

_object: Final = Shape[dict[str, Any]](dict[str, Any])
SUFFIX: Final = ".schema.json"
SHARED: Final = "defs"
SCHEMA_BYTES_MAX: Final = 1024 * 1024
PROBLEMS_PER_ROW_MAX: Final = 20
MASK: Final = "the value"
VERSION: Final = "schema_version"
_major: Final = re.compile(r"v([1-9][0-9]{0,3})\Z")
_version: Final = re.compile(r"([0-9]+)\.[0-9]+\.[0-9]+\Z")
_version_of: Final = itemgetter(VERSION)


@dataclass(frozen=True, slots=True)
class Contract:
    """A schema and its validator. The registry makes these."""

    name: str
    major: int
    schema: dict[str, Any] = field(repr=False, compare=False)
    validator: Any = field(repr=False, compare=False)

    def admits(self, rows: list[dict[str, Any]]) -> bool:
        """Return whether all of these obey, fast and without reasons."""
        try:
            return all(map(self.validator.is_valid, rows))
        except ValueError:  # what no JSON document can hold, or one nested too deep: `problems` reports it
            return False

    def problems(self, row: Any) -> list[Problem]:
        """Return what is wrong with a row, the first few; an empty list if nothing is."""
        try:
            found = chain.from_iterable(map(_problems_of, self.validator.iter_errors(row)))
            return list(islice(found, PROBLEMS_PER_ROW_MAX))
        except ValueError as error:
            return [Problem("$", Reason.VALUE_INVALID, clipped(f"it cannot be checked: {error}", MESSAGE_SHOWN_MAX))]


def validator_library() -> Any:
    """Return jsonschema_rs, which is an extra, so that everything else works without it."""
    try:
        import jsonschema_rs
    except ImportError:
        raise ValidatorMissing from None
    return jsonschema_rs


def _problems_of(error: Any) -> Iterator[Problem]:
    """Translate an error of the validator; an object with two unknown fields has two problems."""
    steps, kinds = list(error.instance_path), validator_library().ValidationErrorKind
    match error.kind:
        case kinds.Required(property=name):
            yield Problem(json_path([*steps, name]), Reason.FIELD_MISSING, "it is required")
        case kinds.AdditionalProperties(unexpected=names):
            for name in islice(names, PROBLEMS_PER_ROW_MAX):
                yield Problem(json_path([*steps, name]), Reason.FIELD_UNKNOWN, "the contract has no such field")
        case kinds.FalseSchema():
            yield Problem(json_path(steps), Reason.FIELD_DISALLOWED, "it must not stand in a row like this one")
        case _:
            yield Problem(json_path(steps), Reason.VALUE_INVALID, clipped(error.message, MESSAGE_SHOWN_MAX))


class Registry:
    """The contracts of some folders. A name stands in one of them only."""

    def __init__(self, *folders: Traversable) -> None:
        self._schemas: dict[tuple[str, int], dict[str, Any]] = {}
        self._resources: list[tuple[str, dict[str, Any]]] = []
        for folder in folders:
            found = _read(folder)
            self._resources += [(schema["$id"], schema) for schema in found.values()]
            mine = {key: schema for key, schema in found.items() if key[0] != SHARED}
            if twice := mine.keys() & self._schemas.keys():
                raise ContractInvalid(f"{min(twice)[0]} stands in two folders.")
            self._schemas |= mine
        self._majors: dict[str, tuple[int, ...]] = {}
        for name, major in sorted(self._schemas.keys()):
            self._majors[name] = (*self._majors.get(name, ()), major)
        self._compiled: dict[tuple[str, int], Contract] = {}

    def majors(self, name: str) -> tuple[int, ...]:
        """Return the major versions in which there is a contract of this name, ascending."""
        return self._majors.get(name, ())

    def names(self) -> tuple[str, ...]:
        return tuple(self._majors)

    def contract(self, name: str, major: int) -> Contract:
        found = self._compiled.get((name, major))
        if found is None:
            found = self._compiled[name, major] = self._compile(name, major)
        return found

    def _compile(self, name: str, major: int) -> Contract:
        if major not in self.majors(name):
            known = ", ".join(self.names())
            raise ContractUnknown(f"{clipped(name)!r} in major version {major} is not among {known}.")
        schema, library = self._schemas[name, major], validator_library()
        try:
            registry = library.Registry(self._resources, retriever=_stay_here)
            validator = library.Draft202012Validator(
                schema,
                validate_formats=True,
                ignore_unknown_formats=False,
                registry=registry,
                mask=MASK,
                pattern_options=library.RegexOptions(),  # no pattern takes longer than its text is long
            )
        except (ValueError, library.ReferencingError) as error:
            raise ContractInvalid(f"{name}, major version {major}: {clipped(str(error), MESSAGE_SHOWN_MAX)}") from None
        return Contract(name, major, schema, validator)


@cache
def published() -> Registry:
    """Return the contracts of the package, of all its pipelines."""
    homes = files("leasehold").joinpath("schemas").iterdir()
    return Registry(*sorted((home for home in homes if home.is_dir()), key=lambda home: home.name))


def contract(name: str, major: int) -> Contract:
    return published().contract(name, major)


def _read(folder: Traversable) -> dict[tuple[str, int], dict[str, Any]]:
    found = _read_major(folder, 1)
    for entry in folder.iterdir():
        if (named := _major.match(entry.name)) and entry.is_dir():
            found |= _read_major(entry, int(named[1]))
    if not found:
        raise ContractUnknown(f"{folder} holds no *{SUFFIX}.")
    return found


def _read_major(folder: Traversable, major: int) -> dict[tuple[str, int], dict[str, Any]]:
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(SUFFIX)), key=lambda each: each.name)
    return {(entry.name.removesuffix(SUFFIX), major): _schema(entry) for entry in entries if entry.is_file()}


def _schema(entry: Traversable) -> dict[str, Any]:
    with entry.open("rb") as file:
        text = file.read(SCHEMA_BYTES_MAX + 1)
    if len(text) > SCHEMA_BYTES_MAX:
        raise ContractInvalid(f"{entry.name} is larger than {SCHEMA_BYTES_MAX:,} bytes.")
    try:
        schema = _object.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContractInvalid(f"{entry.name} cannot be read: {error}.") from None
    if not isinstance(schema.get("$id"), str):
        raise ContractInvalid(f"{entry.name} has no `$id`.")
    return schema


def _stay_here(address: str) -> NoReturn:
    raise LookupError(f"{clipped(address)} is not among the contracts, and nothing is fetched")


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
        if len(distinct) != 1:
            return all(self.admits([row for row in rows if contracts[row[VERSION]] == each]) for each in distinct)
        contract = distinct.pop()
        return contract is not None and contract.admits(rows)

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
