"""Takes secrets out of a stream of lines, also those that span lines or fall on the border of two blocks.

Lines are cleaned in blocks, and every line is looked at together with the text around it, `REDACTION_WINDOW` before and
after: what ends a block is held back until more has come, what came before is looked at again. A secret that is longer
than the window may be found in part only. Placeholders are numbered within a block, not over the whole stream.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from leasehold.errors import Misuse
from leasehold.pipelines.agents.child.lines import OutputLine
from leasehold.pipelines.agents.limits import REDACTION_BLOCK, REDACTION_WINDOW
from leasehold.redact import Policy, RedactionFailed, Redactor, registered

WITHHELD: Final = "[this text could not be cleaned of secrets and is withheld]"


def redactor_for(values: Iterable[str] = ()) -> Redactor:
    """Return a redactor that also hides the values registered in this process, and these.

    A value that is too short to be looked for is left out: it would hide everything.
    """
    return Redactor(Policy(secrets=[value for value in (*registered(), *values) if _is_findable(value)]))


def _is_findable(value: str) -> bool:
    try:
        value.encode("utf-8")
        Policy(secrets=(value,))
    except (Misuse, UnicodeEncodeError):
        return False
    return True


def clean(redactor: Redactor, text: str) -> str:
    """Return a short text without its secrets."""
    try:
        return redactor.redact(text).text
    except RedactionFailed:
        return WITHHELD


def clean_value(redactor: Redactor, value: Any) -> Any:
    """Return a JSON value whose texts, also the names of its fields, are without secrets."""
    match value:
        case str():
            return clean(redactor, value)
        case list():
            return [clean_value(redactor, item) for item in value]
        case dict():
            return {clean(redactor, name): clean_value(redactor, item) for name, item in value.items()}
    return value


class RedactedLines:
    """Takes raw lines and gives clean ones back, in order, each once, some of them later."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._lines: list[str] = []
        self._done = 0  # the lines at the beginning that were given back, and are kept to be looked at
        self._size = 0  # of the lines after them

    def feed(self, line: OutputLine) -> Iterator[str]:
        text = _text(line)
        self._lines.append(text)
        self._size += len(text) + 1
        if self._size >= REDACTION_BLOCK:
            yield from self._clean(held=_count(reversed(self._lines)))

    def end(self) -> Iterator[str]:
        yield from self._clean(held=0)

    def _clean(self, held: int) -> Iterator[str]:
        end = max(self._done, len(self._lines) - held)
        yield from self._redacted()[self._done : end]
        self._done = _count(reversed(self._lines[:end]))
        self._lines = self._lines[end - self._done :]
        self._size = sum(len(text) + 1 for text in self._lines[self._done :])

    def _redacted(self) -> list[str]:
        found = clean(self._redactor, "\n".join(self._lines)).split("\n")
        is_whole = len(found) == len(self._lines) and found[0] != WITHHELD
        return found if is_whole else [WITHHELD] * len(self._lines)


def _count(lines: Iterable[str]) -> int:
    """Return how many lines, from the first, fit into the window."""
    size = count = 0
    for text in lines:
        size += len(text) + 1
        if size > REDACTION_WINDOW:
            break
        count += 1
    return count


def _text(line: OutputLine) -> str:
    """Return a line as text. Where it was cut, half a secret may stand at its end; that much is dropped as well."""
    content = line.content[:-REDACTION_WINDOW] if line.cut else line.content
    text = content.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
    cut = line.cut + len(line.content) - len(content)
    return f"{text} [at least {cut:,} bytes of this line were cut]" if cut else text
