"""Untranslated remainders: words, passages and whole sentences that were left as they stood in the source.

Names are not translated, so a word with a capital is never counted. A lower-case word may well be the same in both
languages (`animal`, `hotel`), so copies weigh only beyond an allowance, which is wide between Romance languages;
words that Apertium flags weigh in full.
"""

from collections.abc import Sequence
from typing import Final

from leasehold.pipelines.translate.reviewers.review import ADEQUACY, NOTHING, Checked, ReviewFinding, Severity, Subject
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

_ROMANCE: Final = frozenset(("es", "fr", "pt", "it", "ca", "gl", "oc", "ro"))
_COPY_LETTERS_MIN: Final = 4
_PASSAGE_WORDS: Final = 5
_SENTENCE_WORDS_MIN: Final = 4
_ALLOWED: Final = 0.05  # of English prose in Apertium's Spanish, 31 of 313 copies were Spanish words too
_ALLOWED_IN_FAMILY: Final = 0.5


def check_untranslated(subject: Subject) -> Checked:
    languages = {language_of(subject.source_language), language_of(subject.target_language)}
    source, text = prose_of(subject)
    words = words_of(text)
    if len(languages) == 1 or not words:
        return NOTHING
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
