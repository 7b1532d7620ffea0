"""Words: the terms of the glossary, what was left untranslated, and what is repeated.

Terms. Where the source has one, the candidate has its translation, as often. They are compared word by word and without
case; a word of the target term may have up to three letters more, so that `contrato` is found in `contratos`. A
glossary without a term of the text gives no score.

Untranslated words, passages and whole sentences. Names are not translated, so a word with a capital is never counted. A
lower-case word may well be the same in both languages (`animal`, `hotel`), so copies weigh only beyond an allowance,
which is wide between Romance languages; words that Apertium flags weigh in full.

Repeated words: one twice in a row, and phrases that go round, as models do that have lost their way. What the source
repeats itself may be repeated, and so may words that a grammar doubles (`nous nous`).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from leasehold.pipelines.translate.reviewers.review import (
    ADEQUACY,
    FLUENCY,
    TERMINOLOGY,
    Checked,
    ReviewFinding,
    Severity,
    Subject,
    quoted,
)
from leasehold.pipelines.translate.reviewers.text import (
    TextSpan,
    Word,
    flagged_words,
    language_of,
    prose_of,
    sentences_of,
    words_in,
    words_of,
)

_ENDING_MAX: Final = 3
_ROMANCE: Final = frozenset(("es", "fr", "pt", "it", "ca", "gl", "oc", "ro"))
_COPY_LETTERS_MIN: Final = 4
_PASSAGE_WORDS: Final = 5
_SENTENCE_WORDS_MIN: Final = 4
_ALLOWED: Final = 0.05  # of English prose in Apertium's Spanish, 31 of 313 copies were Spanish words too
_ALLOWED_IN_FAMILY: Final = 0.5
_DOUBLED: Final = {
    "fr": frozenset(("nous", "vous")),
    "de": frozenset(("die", "der", "das", "sie", "ihr")),
    "en": frozenset(("had", "that")),
}
_PHRASE_WORDS_MAX: Final = 8
_ROUNDS: Final = 3
_WEIGHT: Final = 3.0  # one repetition disturbs as much as this many words delight


def check_terms(subject: Subject) -> Checked:
    if not subject.glossary:
        return [], {}
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


def check_untranslated(subject: Subject) -> Checked:
    languages = {language_of(subject.source_language), language_of(subject.target_language)}
    source, text = prose_of(subject)
    words = words_of(text)
    if len(languages) == 1 or not words:
        return [], {}
    flagged = flagged_words(subject.source, subject.candidate)
    is_family = languages <= _ROMANCE
    copied = _copied_words(source, text, words, {span.start + 1 for span in flagged})
    beyond = max(0.0, len(copied) - (_ALLOWED_IN_FAMILY if is_family else _ALLOWED) * len(words))
    severity = Severity.INFO if is_family and not beyond else Severity.MINOR
    left = sum(subject.candidate[span.start + 1].islower() for span in flagged)
    message = "{} stands here as in the source."
    sentences = _copied_sentences(source, text)
    findings = [subject.finding_at(span, "sentence_copied", Severity.CRITICAL, message) for span in sentences]
    passages = _passages(source, text, words)
    findings += [subject.finding_at(span, "passage_copied", Severity.MAJOR, message) for span in passages]
    findings += [_flagged(subject, span) for span in flagged]
    findings += [subject.finding_at(span, "word_copied", severity, message) for span in copied]
    return findings, {ADEQUACY: max(0.0, 1 - (left + beyond) / len(words))}


def _copied_words(source: str, text: str, words: Sequence[Word], unknown: set[int]) -> list[TextSpan]:
    """Return the words without a flag that stand in the source too, both times without a capital."""
    plain = {word.key for word in words_of(source) if source[word.start].islower()}
    lower = (word for word in words if text[word.start].islower() and word.start not in unknown)
    return [word.span for word in lower if word.key in plain and len(word.key) >= _COPY_LETTERS_MIN]


def _passages(source: str, text: str, words: Sequence[Word]) -> list[TextSpan]:
    """Return runs of words that stand in the source in the same order; names alone make no passage."""
    keys = [word.key for word in words_of(source)]
    known = {tuple(keys[place : place + _PASSAGE_WORDS]) for place in range(len(keys) - _PASSAGE_WORDS + 1)}
    runs: list[list[Word]] = []
    for place in range(len(words) - _PASSAGE_WORDS + 1):
        run = list(words[place : place + _PASSAGE_WORDS])
        if tuple(word.key for word in run) in known and any(text[word.start].islower() for word in run):
            if runs and runs[-1][-1].end >= run[0].start:
                runs[-1].append(run[-1])
            else:
                runs.append(run)
    return [TextSpan(run[0].start, run[-1].end) for run in runs]


def _copied_sentences(source: str, text: str) -> list[TextSpan]:
    known = {_keys(span.of(source)) for span in sentences_of(source)}
    copied = (_trimmed(text, span) for span in sentences_of(text) if _keys(span.of(text)) in known)
    return [span for span in copied if _is_language(span.of(text))]


def _keys(sentence: str) -> tuple[str, ...]:
    return tuple(word.key for word in words_in(sentence))


def _trimmed(text: str, span: TextSpan) -> TextSpan:
    sentence = span.of(text)
    return TextSpan(span.end - len(sentence.lstrip()), span.start + len(sentence.rstrip()))


def _is_language(sentence: str) -> bool:
    """Names, figures and single words are the same in every language; a sentence in capitals is no name."""
    words = words_in(sentence)
    if sentence.isupper():
        return len(words) >= _SENTENCE_WORDS_MIN
    return sum(sentence[word.start].islower() for word in words) >= _SENTENCE_WORDS_MIN - 1


def _flagged(subject: Subject, span: TextSpan) -> ReviewFinding:
    if subject.candidate[span.start + 1].isupper():
        message = "{} is probably a name; its flag is left."
        return subject.finding_at(span, "unknown_name", Severity.INFO, message)
    return subject.finding_at(span, "unknown_word", Severity.MINOR, "{} was not known to the translator.")


def check_repeats(subject: Subject) -> Checked:
    source, text = prose_of(subject)
    if not text.strip():
        return [], {}
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
