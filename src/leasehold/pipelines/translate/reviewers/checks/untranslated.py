"""Untranslated remainders: words, passages and whole sentences that were left as they stood in the source.

Names are not translated, so a word with a capital is never counted. A lower-case word may well be the same in both
languages (`animal`, `hotel`), so copies weigh only beyond an allowance, which is wide between Romance languages;
Apertium's marks weigh in full.
"""

from collections.abc import Sequence
from typing import Final

from leasehold.pipelines.translate.reviewers.text import (
    TextSpan,
    Word,
    language_of,
    sentences_of,
    unknown_marks,
    without_marks,
    without_pieces,
    words_in,
    words_of,
)
from leasehold.pipelines.translate.reviewers.types import (
    ADEQUACY,
    Review,
    ReviewFinding,
    Severity,
    Subject,
    make_review,
    quoted,
)

_ROMANCE: Final = frozenset(("es", "fr", "pt", "it", "ca", "gl", "oc", "ro"))
_COPY_LETTERS_MIN: Final = 4
_PASSAGE_WORDS: Final = 5
_SENTENCE_WORDS_MIN: Final = 4
_ALLOWED: Final = 0.05  # of English prose in Apertium's Spanish, 31 of 313 copies were Spanish words too
_ALLOWED_IN_FAMILY: Final = 0.5


class UntranslatedReviewer:
    """Looks for words of the source that are still there."""

    name = "untranslated"

    def review(self, subject: Subject) -> Review:
        source_language, target_language = language_of(subject.source_language), language_of(subject.target_language)
        text = without_pieces(without_marks(subject), subject.kept)
        words = words_of(text)
        if source_language == target_language or not words:
            return make_review(self.name, [], {})
        source = without_pieces(subject.source, subject.kept)
        marked = unknown_marks(subject)
        passages = _passages(source, text, words)
        sentences = _copied_sentences(source, text)
        is_family = {source_language, target_language} <= _ROMANCE
        findings = [_finding("sentence_copied", Severity.CRITICAL, subject, span) for span in sentences]
        findings += [_finding("passage_copied", Severity.MAJOR, subject, span) for span in passages]
        findings += [_marked(subject, span) for span in marked]
        left = sum(subject.candidate[span.start + 1].islower() for span in marked)
        copied = _copied_words(source, text, words, {span.start + 1 for span in marked})
        beyond = max(0.0, len(copied) - (_ALLOWED_IN_FAMILY if is_family else _ALLOWED) * len(words))
        severity = Severity.INFO if is_family and not beyond else Severity.MINOR
        findings += [_finding("word_copied", severity, subject, span) for span in copied]
        return make_review(self.name, findings, {ADEQUACY: max(0.0, 1 - (left + beyond) / len(words))})


def _copied_words(source: str, text: str, words: Sequence[Word], unknown: set[int]) -> list[TextSpan]:
    """Return the unmarked words that stand in the source too, both times without a capital."""
    plain = {word.key for word in words_of(source) if source[word.start].islower()}
    lower = (word for word in words if text[word.start].islower() and word.start not in unknown)
    return [
        TextSpan(word.start, word.end) for word in lower if word.key in plain and len(word.key) >= _COPY_LETTERS_MIN
    ]


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
    known = {_keys(source[span.start : span.end]) for span in sentences_of(source)}
    copied = (_trimmed(text, span) for span in sentences_of(text) if _keys(text[span.start : span.end]) in known)
    return [span for span in copied if _says_something(text[span.start : span.end])]


def _keys(sentence: str) -> tuple[str, ...]:
    return tuple(word.key for word in words_in(sentence))


def _trimmed(text: str, span: TextSpan) -> TextSpan:
    sentence = text[span.start : span.end]
    return TextSpan(span.end - len(sentence.lstrip()), span.start + len(sentence.rstrip()))


def _says_something(sentence: str) -> bool:
    """Names, figures and single words are the same in every language; a sentence in capitals is no name."""
    words = words_in(sentence)
    if sentence.isupper():
        return len(words) >= _SENTENCE_WORDS_MIN
    return sum(sentence[word.start].islower() for word in words) >= _SENTENCE_WORDS_MIN - 1


def _finding(code: str, severity: Severity, subject: Subject, span: TextSpan) -> ReviewFinding:
    message = f"{quoted(subject.candidate[span.start : span.end])} stands here as in the source."
    return ReviewFinding(code, severity, message, span.start, span.end - span.start)


def _marked(subject: Subject, span: TextSpan) -> ReviewFinding:
    marked = subject.candidate[span.start : span.end]
    if marked[1].isupper():
        message = f"{quoted(marked)} is probably a name; its mark is left."
        return ReviewFinding("unknown_name", Severity.INFO, message, span.start, span.end - span.start)
    message = f"{quoted(marked)} was not known to the translator."
    return ReviewFinding("unknown_word", Severity.MINOR, message, span.start, span.end - span.start)
