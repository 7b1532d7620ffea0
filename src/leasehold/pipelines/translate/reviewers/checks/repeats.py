"""Repeated words: a word twice in a row, and phrases that go round, as models do that have lost their way.

What the source repeats itself may be repeated, and so may words that a grammar doubles (`nous nous`).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from leasehold.pipelines.translate.reviewers.review import FLUENCY, NOTHING, Checked, Severity, Subject
from leasehold.pipelines.translate.reviewers.text import TextSpan, Word, language_of, prose_of, words_in, words_of

_DOUBLED: Final = {
    "fr": frozenset(("nous", "vous")),
    "de": frozenset(("die", "der", "das", "sie", "ihr")),
    "en": frozenset(("had", "that")),
}
_PHRASE_WORDS_MAX: Final = 8
_ROUNDS: Final = 3
_WEIGHT: Final = 3.0  # one repetition disturbs as much as this many words delight


def check_repeats(subject: Subject) -> Checked:
    source, text = prose_of(subject)
    if not text.strip():
        return NOTHING
    words = words_of(text)
    allowed = len(list(_doubles(source, words_of(source), frozenset())))
    doubles = list(_doubles(text, words, _DOUBLED.get(language_of(subject.target_language), frozenset())))[allowed:]
    rounds = [] if list(_rounds(words_of(source))) else list(_rounds(words))
    message = "{} repeats itself."
    findings = [subject.finding_at(span, "phrase_repeated", Severity.MAJOR, message) for span in rounds]
    findings += [subject.finding_at(span, "word_repeated", Severity.MINOR, message) for span in doubles]
    disturbed = _WEIGHT * len(doubles) + sum(len(words_in(span.of(text))) for span in rounds)
    return findings, {FLUENCY: max(0.0, 1 - disturbed / len(words)) if words else 1.0}


def _doubles(text: str, words: Sequence[Word], doubled: frozenset[str]) -> Iterator[TextSpan]:
    for first, second in pairwise(words):
        if first.key == second.key and first.key not in doubled and text[first.end : second.start].isspace():
            yield TextSpan(first.start, second.end)


def _rounds(words: Sequence[Word]) -> Iterator[TextSpan]:
    """Yield where a phrase of two to eight words stands three times in a row."""
    covered = -1
    for size in range(2, _PHRASE_WORDS_MAX + 1):
        same = 0
        for place in range(size, len(words)):
            same = same + 1 if words[place].key == words[place - size].key else 0
            is_end = place + 1 == len(words) or words[place + 1].key != words[place + 1 - size].key
            if is_end and same >= (_ROUNDS - 1) * size and words[place - same - size + 1].start > covered:
                covered = words[place].end
                yield TextSpan(words[place - same - size + 1].start, covered)
