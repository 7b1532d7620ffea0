"""The protocol of a translator: what it is asked, what it answers, and what every one of them checks."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from leasehold import Permanent, Transient
from leasehold.errors import Misuse

TEXT_LENGTH_MAX: Final = 200_000
GLOSSARY_TERMS_MAX: Final = 2_000
BAD_ANSWER: Final = "BAD_ANSWER"
DIFFERENCES_SHOWN_MAX: Final = 5
PLACEHOLDER: Final = re.compile(r"⟦[1-9][0-9]{0,5}⟧")  # stands in a text for what a translation must not change
_language: Final = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}\Z")


class PairUnsupported(Misuse, code="PAIR_UNSUPPORTED"):
    """The translator cannot translate between these languages."""


class TranslatorInvalid(Misuse, code="TRANSLATOR_INVALID"):
    """A translator is named apertium, dictionary:PATH, openai:MODEL[@BASE] or anthropic:MODEL[@BASE]."""


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """One paragraph to translate. What must not change stands in it as placeholders: ⟦1⟧, ⟦2⟧ and so on.

    `before` and `after` are its neighbours in the source. A rework has the candidate before and what was found wrong.
    """

    text: str
    source_language: str
    target_language: str
    before: str = ""
    after: str = ""
    glossary: Mapping[str, str] = field(default_factory=dict)
    style: str = ""
    previous: str = ""
    findings: tuple[str, ...] = ()
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Translation:
    """A candidate, with every placeholder of its request, and who made it; the tokens where a model counted them."""

    text: str
    translator: str
    tokens_in: int | None = None
    tokens_out: int | None = None


class Translator(Protocol):
    """Translates one paragraph at a time, for any number of threads."""

    name: str

    def check(self, source_language: str, target_language: str) -> None:
        """Raise `PairUnsupported`, with the supported pairs, if this pair is not one of them."""

    def translate(self, request: TranslationRequest) -> Translation:
        """Return a candidate, or raise `Transient` or `Permanent`."""

    def close(self) -> None:
        """End what was started. A translator that is used again starts it again."""


def check_tags(source_language: str, target_language: str) -> None:
    for tag in (source_language, target_language):
        if not _language.match(tag):
            raise PairUnsupported(f"{tag[:40]!r} is no language tag; write en, es, pt-BR and the like.")


def check_request(request: TranslationRequest) -> None:
    """Refuse what no translator takes, before any of them is asked."""
    if len(request.text) > TEXT_LENGTH_MAX:
        message = f"A paragraph has at most {TEXT_LENGTH_MAX:,} characters, this has {len(request.text):,}: divide it."
        raise Permanent(message, error_class="TEXT_TOO_LONG")
    if len(request.glossary) > GLOSSARY_TERMS_MAX:
        count = len(request.glossary)
        message = f"A glossary has at most {GLOSSARY_TERMS_MAX:,} terms, this has {count:,}: shorten it."
        raise Permanent(message, error_class="GLOSSARY_TOO_LONG")
    if "\0" in request.text or any("\ud800" <= letter <= "\udfff" for letter in request.text):
        raise Permanent("The paragraph holds a NUL or half a character: mend its encoding.", error_class="TEXT_INVALID")
    check_tags(request.source_language, request.target_language)


def placeholder_differences(source: str, candidate: str) -> str:
    """Return in words which placeholders the candidate does not hold as often as the source, or nothing."""
    wanted, found = Counter(PLACEHOLDER.findall(source)), Counter(PLACEHOLDER.findall(candidate))
    differences = [
        f"{name} stands {found[name]} times instead of {wanted[name]}"
        for name in sorted(wanted.keys() | found.keys(), key=lambda name: int(name[1:-1]))
        if wanted[name] != found[name]
    ]
    more = len(differences) - DIFFERENCES_SHOWN_MAX
    return ", ".join(differences[:DIFFERENCES_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")


class PlaceholdersLost(Transient):
    """Raised for an answer with missing or repeated placeholders, kept here; a second answer may be better."""

    def __init__(self, differences: str, translation: Translation) -> None:
        super().__init__(f"In the answer {differences}.", error_class=BAD_ANSWER)
        self.translation = translation


def check_answer(request: TranslationRequest, made: Translation) -> Translation:
    """Refuse a candidate that lost a placeholder or is empty."""
    if request.text.strip() and not made.text.strip():
        raise bad_answer("The answer is empty.")
    if "\0" in made.text:  # no database could keep it, and it would be paid for
        raise bad_answer("The answer holds a NUL.")
    if differences := placeholder_differences(request.text, made.text):
        raise PlaceholdersLost(differences, made)
    return made


def bad_answer(message: str) -> Transient:
    """Return the failure of an answer that came but is of no use; how often to ask again is the caller's to limit."""
    return Transient(message, error_class=BAD_ANSWER)
