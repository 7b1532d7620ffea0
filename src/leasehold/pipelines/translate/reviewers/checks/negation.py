"""Negation: a sentence that denies is translated by one that denies, as often as its source does.

Compared sentence by sentence where both texts have as many, and as a whole otherwise. Apart from plain negations each
language has words that may stand for one (`without`, `hardly`, `impossible`): these excuse a negation on the other side
and do not ask for one. English and German deny once for each thing denied, so theirs are counted; where negations go
together (`no … nada`, `ne … pas`) only whether there is one is asked. A language that is not listed gives no score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from leasehold.pipelines.translate.reviewers.review import ADEQUACY, Checked, ReviewFinding, Severity, Subject, quoted
from leasehold.pipelines.translate.reviewers.text import TextSpan, Word, language_of, prose_of, sentences_of, words_in

_APOSTROPHES: Final = ("'", "’")
_DENYING_ONCE: Final = frozenset(("en", "de"))
_GOING_ON: Final = frozenset(("nor",))  # with a `neither` or a `not` before it
# These stand without a negation as often as with one: `nobody but you`, `only you`.
_IDLE: Final = frozenset(
    [("no", "doubt"), ("no", "matter"), ("no", "sooner"), ("not", "only")]
    + [(denial, "but") for denial in ("no", "not", "nobody", "nothing", "none", "nowhere")]
)
_QUOTED_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Denying:
    """The words of a language that deny; those that may stand for one; those that invite one in a translation."""

    plain: frozenset[str]
    near: frozenset[str]
    inviting: frozenset[str]


def _denying(*lists: str) -> Denying:
    return Denying(*(frozenset(words.split()) for words in lists))


DENYING: Final = {
    "en": _denying(
        "not no never nobody nothing nowhere none nor neither cannot noone",
        "without hardly scarcely barely unless lest impossible unable incapable unknown useless refuse refused refuses"
        " fail failed fails lack lacks lacked deny denied denies avoid avoided prevent prevented forbid forbade"
        " forbidden except",
        "until till before but only else than rather little few instead too any anything anyone anybody ever"
        " either least",
    ),
    "es": _denying(
        "no nunca jamás nadie nada ningún ninguno ninguna ningunos ningunas ni tampoco",
        "sin apenas excepto salvo sino imposible incapaz desconocido desconocida inútil falta negar negó niega evitar"
        " impedir rehusó rehúsa rehusar",
        "hasta antes poco poca pocos pocas solo sólo menos",
    ),
    "fr": _denying(
        "ne n pas non jamais rien aucun aucune ni",
        "sans sauf impossible incapable inconnu inconnue inutile refuse refusa refuser manque éviter empêcher hormis",
        "avant peu moins seulement plus",
    ),
    "de": _denying(
        "nicht nichts nie niemals niemand niemanden niemandem kein keine keinen keinem keiner keines nirgends nirgendwo"
        " weder nein nimmer",
        "ohne kaum außer unmöglich unfähig unbekannt nutzlos verweigern weigerte fehlt mangel vermeiden verhindern",
        "bevor bis nur wenig weniger statt selten",
    ),
    "pt": _denying(
        "não nunca jamais ninguém nada nenhum nenhuma nenhuns nenhumas nem tampouco",
        "sem exceto salvo senão impossível incapaz desconhecido desconhecida inútil falta negar negou nega evitar"
        " impedir recusou recusar",
        "até antes só pouco pouca menos",
    ),
    "it": _denying(
        "non no mai nessuno nessuna nessun niente nulla né neanche nemmeno neppure",
        "senza eccetto salvo impossibile incapace sconosciuto sconosciuta inutile manca negare negò evitare impedire"
        " rifiutò rifiutare appena",
        "prima finché solo poco poca meno",
    ),
    "ca": _denying(
        "no mai ningú res ni tampoc enlloc",
        "sense excepte llevat sinó impossible incapaç desconegut desconeguda inútil manca negar negà evitar impedir"
        " refusar",
        "fins abans només poc poca menys",
    ),
}


def check_negation(subject: Subject) -> Checked:
    source = DENYING.get(language_of(subject.source_language))
    target = DENYING.get(language_of(subject.target_language))
    if source is None or target is None:
        return [], {}
    is_counted = language_of(subject.source_language) in _DENYING_ONCE
    findings: list[ReviewFinding] = []
    measured = lost = 0
    for there, here in _paired(subject):
        denied, denials = _among(there, source.plain), _among(here, target.plain)
        idle = {first.start for first, second in pairwise(there) if (first.key, second.key) in _IDLE}
        wanted = _counted(denied, idle) if is_counted else denied[:1]
        excuses = len(_among(here, target.near)) - len(_among(there, source.near)) - len(idle)
        missing = len(wanted) - len(denials) - max(0, excuses)
        is_added = bool(denials) and not denied and not _among(there, source.near | source.inviting)
        measured += len(wanted) or bool(denials)
        lost += max(0, missing) or is_added
        if missing > 0:
            findings.append(_lost(subject, wanted, here))
        if is_added:
            message = "The candidate denies here ({}), the source does not."
            findings.append(subject.finding_at(denials[0].span, "negation_added", Severity.MAJOR, message))
    return findings, {ADEQUACY: 1 - lost / measured if measured else None}


def _paired(subject: Subject) -> list[tuple[list[Word], list[Word]]]:
    source, candidate = prose_of(subject)
    theirs, ours = sentences_of(source), sentences_of(candidate)
    if len(theirs) != len(ours):
        theirs, ours = [TextSpan(0, len(source))], [TextSpan(0, len(candidate))]
    return list(zip(_words(source, theirs), _words(candidate, ours), strict=True))


def _words(text: str, spans: list[TextSpan]) -> list[list[Word]]:
    return [[_placed(text, word, span.start) for word in words_in(span.of(text))] for span in spans]


def _placed(text: str, word: Word, offset: int) -> Word:
    """Move a word to its place in the whole text; what ends a contraction is read as the `not` that it is."""
    start, end = word.start + offset, word.end + offset
    if word.key == "t" and start >= 2 and text[start - 1] in _APOSTROPHES and text[start - 2] in "nN":  # noqa: PLR2004
        return Word("not", start - 2, end)
    is_letter = word.key == "n" and not text.startswith(_APOSTROPHES, end)
    return Word("" if is_letter else word.key, start, end)


def _among(words: Sequence[Word], known: frozenset[str]) -> list[Word]:
    return [word for word in words if word.key in known]


def _counted(denials: list[Word], idle: set[int]) -> list[Word]:
    """Return the negations that a translation must have: not the idle ones, nor those that go on with another."""
    busy = [word for word in denials if word.start not in idle]
    return [word for word in busy if word.key not in _GOING_ON] or busy[:1]


def _lost(subject: Subject, denials: list[Word], sentence: list[Word]) -> ReviewFinding:
    denied = ", ".join(quoted(denial.span.of(subject.source)) for denial in denials[:_QUOTED_MAX])
    message = f"The source denies here ({denied}), the candidate does not, or not as often."
    if not sentence:
        return ReviewFinding("negation_lost", Severity.CRITICAL, message)
    start, end = sentence[0].start, sentence[-1].end
    return ReviewFinding("negation_lost", Severity.CRITICAL, message, start, end - start)
