"""Recorded failures, raised again: as the type that was raised then, so that a handler catches it now as it did.

A record is not to be trusted. It cannot have anything imported or called: a type is looked for by name among what is
imported already, must be an `Exception`, and is made without its own constructor. A type that is not found is replaced
by the nearest of its bases that is, and at last by `Transient` or `Permanent`.
"""

import ast
import builtins
import sys
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from leasehold.errors import LeaseholdError, OptionInvalid, Permanent, Transient, check_error_class
from leasehold.model.failure.named import IMPORTABLE, LINEAGE_MAX
from leasehold.model.failure.verdict import Verdict, pause

# What a module is called while it is a program, or a program's isolated handler; a replay imports it by its name.
PROGRAMS: Final = ("__main__", "__leasehold_isolated__")
# Built-in types whose text comes from their constructor, not from `args`.
OWN_WORDS: Final = (SyntaxError, UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError)
ATTRIBUTES: Final = {"exit_code": "returncode", "smtp_code": "smtp_code", "sqlstate": "sqlstate"}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A failure as it stands on record. `home`: the module of the handler that is replayed."""

    failure: dict[str, Any]
    home: str

    def error(self) -> Exception:
        """Make what was raised then, as well as it is known: its type, its words, and the facts that were kept."""
        named = self.failure.get("raised")
        names = named[:LINEAGE_MAX] if isinstance(named, list) else []
        kinds = [kind for kind in (find_type(name, self.home) for name in names) if kind is not None]
        kinds.append(Transient if self.failure.get("retryable") is True else Permanent)
        return next(error for error in map(self._make, kinds) if error is not None)

    def verdict(self) -> Verdict | None:
        """Return how it was classified then: the new exception lacks what the classifier would read."""
        try:
            error_class = check_error_class(self.failure.get("error_class"))
        except OptionInvalid:
            return None
        retryable = self.failure.get("retryable") is True
        return Verdict(error_class, retryable, pause(self.failure.get("retry_after")) if retryable else 0.0)

    def _make(self, kind: type[Exception]) -> Exception | None:
        """Make an exception without its constructor; None where that cannot be done."""
        words = _words(kind, str(self.failure.get("message", "")))
        base: Any = next(one for one in kind.__mro__ if _is_builtin(one))
        try:
            error: Exception = base.__new__(_with_text(kind, words))
        except TypeError:  # a group, or a type of a library in C that must be made its own way
            return None
        error.args = (words,)
        with suppress(AttributeError, TypeError):
            object.__getattribute__(error, "__dict__").update(self._attributes(error))
        return error

    def _attributes(self, error: Exception) -> dict[str, Any]:
        """Return what handlers ask such an error for, from the facts that are kept of it."""
        kept = self.failure.get("context")
        facts: dict[str, Any] = kept if isinstance(kept, dict) else {}
        found = {name: facts[fact] for fact, name in ATTRIBUTES.items() if fact in facts}
        verdict = self.verdict()
        if isinstance(error, Transient | Permanent) and verdict is not None:
            found |= {"error_class": verdict.error_class, "retry_after": verdict.retry_after}
        if isinstance(error, LeaseholdError):
            found["detail"] = error.args[0]
        if isinstance(error, OSError) and isinstance(facts.get("errno"), int):
            vars(OSError)["errno"].__set__(error, facts["errno"])
        if isinstance(status := facts.get("http_status"), int):
            found |= dict.fromkeys(("status_code", "status", "code"), status)
            found["response"] = SimpleNamespace(status_code=status, status=status, headers={}, text="", content=b"")
        if isinstance(signal := facts.get("signal"), int):
            found["returncode"] = -signal
        return found


def find_type(name: object, home: str) -> type[Exception] | None:
    """Find a type of exceptions by `module:Class` among what is imported; nothing is imported and nothing is called."""
    if not isinstance(name, str) or not IMPORTABLE.match(name):
        return None
    module, _, path = name.partition(":")
    found: object = sys.modules.get(home if module in PROGRAMS else module)
    for part in path.split("."):
        found = _own(found).get(part)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _own(holder: object) -> dict[str, Any]:
    """Return what stands in a module or class itself: asking it by attribute could run its code."""
    look: Any = type.__getattribute__ if isinstance(holder, type) else object.__getattribute__
    with suppress(AttributeError):
        return dict(look(holder, "__dict__"))
    return {}


def _is_builtin(kind: type) -> bool:
    return getattr(builtins, kind.__name__, None) is kind


def _with_text(kind: type[Exception], words: object) -> type[Exception]:
    """Return a type with the recorded text, where its own `__str__` needs what only its constructor sets."""
    author, hook = (next(one for one in kind.__mro__ if name in _own(one)) for name in ("__str__", "__init_subclass__"))
    if (
        type(kind) is not type
        or hook not in (object, LeaseholdError)
        or (_is_builtin(author) and author not in OWN_WORDS)
    ):
        return kind
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__str__": lambda _: str(words)}
    return type(kind.__name__, (kind,), names)


def _words(kind: type[Exception], message: str) -> Any:
    """Return the recorded text without the name of the type before it."""
    text = message.partition(": ")[2]
    if issubclass(kind, KeyError):  # its text is a literal
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return ast.literal_eval(text)
    return text
