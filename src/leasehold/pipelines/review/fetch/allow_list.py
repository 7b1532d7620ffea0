"""The allow-list of depot paths: which folders of a Perforce server may be read at all.

An entry is a folder and everything below it, `//depot/projectA/...`. `//depot/project...` would also match
`//depot/project-secret`, so the three dots come after a slash, and no other wildcard is accepted. A path is compared in
its canonical form, whole folder by whole folder; a path without a canonical form is denied, never repaired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.limits import PATH_CHARACTERS_MAX

BELOW: Final = "/..."
# Perforce writes these four characters of a name as escapes; every other `%` is a way to write something else.
ESCAPES: Final = {"40": "@", "23": "#", "2A": "*", "25": "%"}
ESCAPE: Final = re.compile(r"%(..?)?", re.DOTALL)
SHOWN_MAX: Final = 200


class AllowListInvalid(Misuse, code="REVIEW_ALLOW_LIST_INVALID"):
    """The allow-list has at least one entry, and each is a folder of a depot: //depot/projectA/..."""


class PathDenied(Misuse, code="REVIEW_PATH_DENIED"):
    """A path is outside the allow-list; nothing of the change was fetched."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{reason}.")
        self.path = path
        self.reason = reason


def canonical_depot_path(path: str) -> str:
    """Return a depot path in the one form that is compared, or raise `PathDenied`."""
    if len(path) > PATH_CHARACTERS_MAX:
        raise PathDenied(path, f"a path has at most {PATH_CHARACTERS_MAX:,} characters")
    if not path.startswith("//"):
        raise PathDenied(path, "a depot path begins with //")
    if not path.isprintable() or "\\" in path or "\ufffd" in path:
        raise PathDenied(path, "it has a character that no depot path has")
    if "..." in path or "*" in path:
        raise PathDenied(path, "it has a wildcard")
    if "@" in path or "#" in path:
        raise PathDenied(path, "it has a revision")
    if not {"", ".", ".."}.isdisjoint(path[2:].split("/")):
        raise PathDenied(path, "it has a folder that is empty, . or ..")
    return ESCAPE.sub(_canonical_escape, path)


def _canonical_escape(found: re.Match[str]) -> str:
    code = (found[1] or "").upper()
    if code not in ESCAPES:
        raise PathDenied(found.string, "it has an escape that Perforce does not write")
    return f"%{code}"


@dataclass(frozen=True, slots=True)
class AllowList:
    """Folders, each as `//depot/projectA/`, sorted and without those inside others."""

    folders: tuple[str, ...]

    @classmethod
    def of(cls, entries: Iterable[str]) -> AllowList:
        """Validate the entries of a configuration. One that is wrong refuses all of them."""
        folders = sorted({_folder(entry) for entry in entries})
        if not folders:
            raise AllowListInvalid("It has none.")
        inside = {one for one in folders for other in folders if one != other and one.startswith(other)}
        return cls(tuple(folder for folder in folders if folder not in inside))

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(folder + BELOW[1:] for folder in self.folders)

    def check(self, path: str) -> str:
        """Return the canonical form of a file's path, or raise `PathDenied`."""
        canonical = canonical_depot_path(path)
        if not canonical.startswith(self.folders):
            raise PathDenied(path, "it is outside the allow-list")
        return canonical

    def check_asked(self, path: str) -> None:
        """Check a path that somebody asked for: a file, or a folder with everything below it."""
        try:
            self.check(f"{path.removesuffix(BELOW)}/x" if path.endswith(BELOW) else path)
        except PathDenied as denied:
            raise PathDenied(path, denied.reason) from None


def _folder(entry: object) -> str:
    if not isinstance(entry, str) or not entry.endswith(BELOW):
        raise AllowListInvalid(f"{str(entry)[:SHOWN_MAX]!r} does not end with {BELOW}")
    try:
        return canonical_depot_path(entry.removesuffix(BELOW)) + "/"
    except PathDenied as denied:
        raise AllowListInvalid(f"{entry[:SHOWN_MAX]!r}: {denied.reason}.") from None
