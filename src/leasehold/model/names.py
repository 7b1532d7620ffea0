"""Names, keys and numbers that callers pass, checked once at the edge."""

import re
import sys
from collections.abc import Iterable

from leasehold.canonical import INTEGER_MAX
from leasehold.errors import NameInvalid, OptionInvalid, number_text, shown
from leasehold.model.limits import BRANCH_PATTERN, EFFECT_PATTERN, KEY_LENGTH_MAX, NAME_PATTERN, REASON_LENGTH_MAX

_name = re.compile(NAME_PATTERN)
_effect = re.compile(EFFECT_PATTERN)
_branch = re.compile(BRANCH_PATTERN)
EACH_BRANCH = "*"
_LAST = chr(sys.maxunicode)
_SURROGATES = range(0xD800, 0xE000)  # no key has one
_unprintable = re.compile(r"[\x00\ud800-\udfff]")


def check_name(name: object, what: str) -> str:
    """Return `name` if it is valid for a queue, kind or stage; `what` names it in the error."""
    if isinstance(name, str) and _name.match(name):
        return name
    raise NameInvalid(f"This {what} is {shown(name)}.")


def check_queue(name: object) -> str:
    """Return the name of a queue, of one of its branches, or `name/*` for each of them."""
    base, slash, branch = str(name).partition("/")
    if slash and branch != EACH_BRANCH:
        check_branch(branch)
    check_name(base if isinstance(name, str) else name, "queue")
    return str(name)


def check_branch(branch: object) -> str:
    if isinstance(branch, str) and _branch.match(branch):
        return branch
    raise NameInvalid(
        f"A branch is named with up to 200 letters, digits or _.:[]-, such as a host; this is {shown(branch)}."
    )


def branch_of(queue: str, branch: str) -> str:
    return f"{queue}/{branch}"


def base_of(queue: str) -> str:
    return queue.partition("/")[0]


def family_of(queue: str) -> str:
    """Return `queue/*` for a branch of a queue; '' for a queue."""
    base, found, _ = queue.partition("/")
    return f"{base}/{EACH_BRANCH}" if found else ""


def check_effect(kind: object) -> str:
    if isinstance(kind, str) and _effect.match(kind):
        return kind
    raise NameInvalid(f"An effect's kind is a letter, then up to 62 letters, digits or _.-; this is {shown(kind)}.")


def check_key(key: object, what: str = "A key") -> str:
    return check_text(key, KEY_LENGTH_MAX, what)


def key_range(prefix: str) -> tuple[str, str]:
    """Return the bounds of all keys that start with `prefix`, in the order of code points: low <= key < high."""
    head = prefix.rstrip(_LAST)
    if not head:
        return prefix, _LAST * (KEY_LENGTH_MAX + 1)
    following = ord(head[-1]) + 1
    return prefix, head[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def check_text(text: object, most: int, what: str) -> str:
    """Return `text` if it has 1 to `most` characters that both databases can store; `what` names it in the error."""
    if not isinstance(text, str) or not 1 <= len(text) <= most or _unprintable.search(text):
        raise OptionInvalid(f"{what} is a text of 1 to {most} characters without NUL; got {shown(text)}.")
    return text


def check_visible(text: object, most: int, what: str) -> str:
    """Check a text as `check_text` does, and that it is more than blanks."""
    if not check_text(text, most, what).strip():
        raise OptionInvalid(f"{what} is more than blanks.")
    return str(text)


def clean(text: str, limit: int) -> str:
    """Return `text` as both databases can store it: without NUL and lone surrogates, cut to `limit` characters."""
    if len(text) > limit:
        text = f"{text[:limit]}… ({len(text):,} characters in all)"
    return _unprintable.sub("\N{REPLACEMENT CHARACTER}", text)


def reason_of(text: object) -> str:
    return clean(str(text), REASON_LENGTH_MAX)


def route(kind: str, stage: str | None) -> str:
    """Name what runs a task: its kind, or its kind and stage. '/' cannot appear in either."""
    return kind if stage is None else f"{kind}/{stage}"


def check_choice(value: object, choices: Iterable[str], what: str) -> None:
    """Raise unless `value` is None or one of these."""
    if value is not None and value not in tuple(choices):
        raise OptionInvalid(f"{what} is one of {', '.join(choices)}; got {shown(value)}.")


def check_flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise OptionInvalid(f"{what} is True or False; got a {type(value).__name__}.")
    return value


def check_whole(value: object, low: int, high: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise OptionInvalid(
            f"{what} must be a whole number from {number_text(low)} to {number_text(high)}; got {shown(value)}."
        )
    return value


def check_id(value: object, what: str, low: int = 1) -> int:
    return check_whole(value, low, INTEGER_MAX, f"A {what}'s id")


def check_range(value: object, low: float, high: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise OptionInvalid(f"{what} must lie between {number_text(low)} and {number_text(high)}; got {shown(value)}.")
    return value
