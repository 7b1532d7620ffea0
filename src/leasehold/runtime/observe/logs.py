"""Loggers on top of the standard library's, so that a program decides where lines go: `event key=value …`.

Every line is redacted, exception texts and tracebacks included; one that cannot be redacted is withheld.
"""

import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final

from leasehold.redact import scrub

_STANDARD: Final = ("exc_info", "stack_info", "stacklevel", "extra", "trace")
LINE_LENGTH_MAX: Final = 64 * 1024
DEPTH_MAX: Final = 8
TEXT_COST: Final = 64  # what it takes to look at a text, in characters: many short ones cost more than a long one
TOO_MUCH: Final = "(withheld: too large, too deep or not to be read)"
STACK_OWN: Final = 3  # frames of this module and of logging, which explain nothing


class RedactedLine(str):
    """A line that is redacted."""

    __slots__ = ()


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger that knows its context and takes fields by name: `log.info("rendered", frames=24)`."""

    def __init__(self, name: str, **context: object) -> None:
        super().__init__(logging.getLogger(name), context)

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Put a line together and redact it, before any handler of the program's sees a part of it."""
        if self.isEnabledFor(level):
            line, kept = self.process(_message(msg, args), kwargs)
            self.logger.log(level, "%s", RedactedLine(line), **{"stacklevel": 2, **kept})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Write context and fields behind the event, each so that the line stays one line; then redact."""
        fields = {**(self.extra or {}), **{key: value for key, value in kwargs.items() if key not in _STANDARD}}
        line = " ".join([str(msg), *(f"{key}={_plain(value)}" for key, value in fields.items())])
        line += _trace(kwargs.get("exc_info"))
        if trace := kwargs.get("trace"):
            line += f"\n{trace}"
        if kwargs.get("stack_info"):
            line += "\n" + "".join(traceback.format_stack()[:-STACK_OWN]).rstrip()
        kept: dict[str, Any] = {"stacklevel": kwargs["stacklevel"]} if "stacklevel" in kwargs else {}
        if extra := kwargs.get("extra"):
            budget = _Budget()
            kept["extra"] = {key: budget.tidy(value, key) for key, value in extra.items()}
        return clean(line), kept


def _message(msg: object, args: tuple[object, ...]) -> str:
    try:
        return str(msg) % args if args else str(msg)
    except (TypeError, ValueError):
        return f"{msg} {args!r}"


def _plain(value: object) -> str:
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 — a field that cannot be read must not end the attempt that logs it
        text = f"({type(value).__name__}, which cannot be read)"
    return text if text.isprintable() and " " not in text and text else repr(text)


def _trace(exc_info: object) -> str:
    if not exc_info:
        return ""
    error = exc_info if isinstance(exc_info, BaseException) else sys.exc_info()[1]
    return "" if error is None else "\n" + "".join(traceback.format_exception(error)).rstrip()


def cleaned(value: object, name: str = "") -> Any:
    """Return a value without secrets, inside containers too; its name may show that it is one."""
    return _Budget().tidy(value, name)


class _Budget:
    """How much of what a program hands over is looked at; what lies beyond is withheld."""

    def __init__(self) -> None:
        self._left = LINE_LENGTH_MAX

    def tidy(self, value: object, name: str) -> Any:
        """Return a value without secrets; whatever stops that, nothing unredacted is handed on."""
        try:
            return self._value(value, name, 0)
        except Exception:  # noqa: BLE001 — a value that cannot be read must not end the attempt that logs it
            return TOO_MUCH

    def _value(self, value: object, name: str, depth: int) -> Any:
        self._left -= 1
        if value is None or isinstance(value, bool | int | float):
            return value
        if self._left < 0 or depth > DEPTH_MAX:
            return TOO_MUCH
        match value:
            case str():
                return self._text(value, name)
            case Mapping():
                return self._pairs(value, depth + 1)
            case list() | tuple() | set() | frozenset():
                kind = next(one for one in (list, tuple, set, frozenset) if isinstance(value, one))
                return kind(self._items(value, name, depth + 1))
        return self._opaque(value, name)

    def _text(self, text: str, name: str) -> str:
        self._left -= len(text) + TEXT_COST
        bare = clean(text)
        if not name:
            return bare
        whole = f"{name}={_plain(bare)}"
        cleaned_whole = clean(whole)
        return bare if cleaned_whole == whole else cleaned_whole.removeprefix(f"{name}=").strip("'\"")

    def _items(self, items: Iterable[object], name: str, depth: int) -> list[Any]:
        found: list[Any] = []
        for item in items:
            found.append(self._value(item, name, depth))
            if self._left < 0:
                return [*found, TOO_MUCH]
        return found

    def _pairs(self, pairs: Mapping[Any, object], depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in pairs.items():
            name = self._value(key, "", depth)
            found[name] = self._value(value, str(name), depth)
            if self._left < 0:
                return {**found, TOO_MUCH: TOO_MUCH}
        return found

    def _opaque(self, value: object, name: str) -> Any:
        """Return a thing as it is if it shows no secret when it is written out, else what is left of its text."""
        text, shown = str(value), repr(value)
        tidy = self._text(text, name)
        return value if (tidy, clean(shown)) == (text, shown) else tidy


def clean(line: str, redact: Callable[[str], str] = scrub) -> str:
    """Redact first, then cut; what lies beyond the limit is redacted too, so that no secret is cut in half."""
    try:
        return redact(line[: 2 * LINE_LENGTH_MAX])[:LINE_LENGTH_MAX]
    except Exception:  # noqa: BLE001 — whatever stops the redactor, nothing unredacted is logged
        return "(withheld: a line that could not be redacted)"
