"""Glossary terms: where the source has a term, the candidate has its translation, as often.

Terms are compared word by word and without case; a word of the target term may have up to three letters more, so that
`contrato` is found in `contratos`. A glossary without a term of the text gives no score.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from leasehold.pipelines.translate.reviewers.review import (
    NOTHING,
    TERMINOLOGY,
    Checked,
    ReviewFinding,
    Severity,
    Subject,
    quoted,
)
from leasehold.pipelines.translate.reviewers.text import TextSpan, Word, prose_of, words_in, words_of

_ENDING_MAX: Final = 3


def check_terms(subject: Subject) -> Checked:
    if not subject.glossary:
        return NOTHING
    source, candidate = (_Text(words_of(text)) for text in prose_of(subject))
    findings = []
    required = kept = 0
    for term, translation in sorted(subject.glossary.items()):
        wanted = len(source.places(term, ending_max=0))
        found = min(wanted, len(candidate.places(translation, ending_max=_ENDING_MAX))) if wanted else 0
        required += wanted
        kept += found
        if found < wanted:
            findings.append(_finding(subject, term, translation, candidate.places(term, ending_max=0)))
    return findings, {TERMINOLOGY: kept / required if required else None}


class _Text:
    """Words by their beginnings, so that each term is looked up and not searched for."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._by_key: dict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(words):
            for cut in range(min(_ENDING_MAX + 1, len(word.key))):
                self._by_key[word.key[: len(word.key) - cut]].append(place)

    def places(self, term: str, *, ending_max: int) -> list[TextSpan]:
        """Return where a term stands: from the start of its first word to the end of its last."""
        keys = [word.key for word in words_in(term)]
        found = []
        free_from = 0
        for place in self._by_key.get(keys[0], ()) if keys else ():
            run = self._words[place : place + len(keys)]
            if place >= free_from and len(run) == len(keys) and _fits(run, keys, ending_max):
                found.append(TextSpan(run[0].start, run[-1].end))
                free_from = place + len(keys)
        return found


def _fits(run: Sequence[Word], keys: list[str], ending_max: int) -> bool:
    pairs = zip(run, keys, strict=True)
    return all(word.key.startswith(key) and len(word.key) - len(key) <= ending_max for word, key in pairs)


def _finding(subject: Subject, term: str, translation: str, left: list[TextSpan]) -> ReviewFinding:
    message = f"The glossary translates {quoted(term)} as {quoted(translation)}."
    if not left:
        return ReviewFinding("term_missing", Severity.MAJOR, message)
    found = subject.finding_at(left[0], "term_untranslated", Severity.MAJOR, "Here it is {}.")
    return replace(found, message=f"{message} {found.message}")
