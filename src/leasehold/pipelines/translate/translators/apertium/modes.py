"""Which pairs are installed, and the programs of each: Apertium's mode files, read without a shell.

A mode is one line of a shell: programs with their files, joined by pipes. What is more than that is refused, not run.
The folder is what `apertium -l` lists.
"""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from leasehold import Permanent
from leasehold.pipelines.translate.translators.translator import PairUnsupported

FOLDERS: Final = ("/usr/share/apertium", "/usr/local/share/apertium", "/opt/homebrew/share/apertium")
MODE_BYTES_MAX: Final = 100_000
# Tags of two letters, which people write, and of three, which Apertium's newer pairs are named by.
LETTERS_OF_THREE: Final = {
    "af": "afr", "an": "arg", "ar": "ara", "be": "bel", "bg": "bul", "br": "bre", "ca": "cat", "cy": "cym",
    "da": "dan", "de": "deu", "en": "eng", "eo": "epo", "es": "spa", "eu": "eus", "fi": "fin", "fr": "fra",
    "ga": "gle", "gl": "glg", "hi": "hin", "hr": "hrv", "id": "ind", "is": "isl", "it": "ita", "kk": "kaz",
    "mk": "mkd", "ms": "zlm", "mt": "mlt", "nb": "nob", "nl": "nld", "nn": "nno", "oc": "oci", "pl": "pol",
    "pt": "por", "ro": "ron", "ru": "rus", "sc": "srd", "sh": "hbs", "sl": "slv", "sr": "srp", "sv": "swe",
    "tr": "tur", "tt": "tat", "uk": "ukr", "ur": "urd",
}  # fmt: skip
_TWO: Final = {three: two for two, three in LETTERS_OF_THREE.items()}
_mode_name: Final = re.compile(r"([a-z]{2,3})(?:_(\w+))?-([a-z]{2,3})(?:_(\w+))?\Z")
_more_than_pipes: Final = re.compile(r"[;&<>`(){}\n]|\$(?![12](?:\s|\Z))")


@dataclass(frozen=True, slots=True)
class Mode:
    """One installed direction. Its languages are tags as people write them: en, pt-BR."""

    path: Path
    source: str
    target: str

    @property
    def name(self) -> str:
        """As Apertium calls it: eng-spa."""
        return self.path.stem


def installed_modes() -> list[Mode]:
    """Return every direction that is installed here, in order of name."""
    own = os.environ.get("APERTIUM_DATADIR")
    folders = [own] if own else FOLDERS
    found = (_mode(path) for folder in folders for path in sorted(Path(folder).glob("modes/*.mode")))
    return [mode for mode in found if mode is not None]


def find_mode(source_language: str, target_language: str) -> Mode:
    """Return the direction between two languages, of the region asked for if there is one."""
    asked = (_tag(source_language), _tag(target_language))
    there = installed_modes()
    fitting = [mode for mode in there if (_bare(mode.source), _bare(mode.target)) == (_bare(asked[0]), _bare(asked[1]))]
    if not fitting:
        pairs = ", ".join(f"{mode.source}→{mode.target}" for mode in there) or "none"
        raise PairUnsupported(
            f"Apertium has no {asked[0]}→{asked[1]} here. Installed: {pairs}. On Debian and Ubuntu `apt search"
            " ^apertium-` lists what there is, and `apt install apertium apertium-eng-spa` installs a pair: here en→es"
            " and es→en."
        )
    return min(
        fitting, key=lambda mode: (_distance(mode.source, asked[0]), _distance(mode.target, asked[1]), mode.name)
    )


def programs_of(mode: Mode) -> list[list[str]]:
    """Return the programs of a direction, each made to flush at a NUL and to leave unknown words unmarked."""
    try:
        with mode.path.open(encoding="utf-8") as file:
            line = file.read(MODE_BYTES_MAX).strip()
        words = shlex.shlex(line, posix=True, punctuation_chars="|")
        words.whitespace_split = True
        listed = list(words)
    except (OSError, ValueError) as error:
        raise Permanent(f"Apertium's {mode.path} cannot be read: {error}.", error_class="MODE_INVALID") from None
    programs: list[list[str]] = [[]]
    for word in listed:
        if word == "|":
            programs.append([])
        elif word != "$2":  # asks for ambiguities
            programs[-1].append("-n" if word == "$1" else word)
    if not all(programs) or _more_than_pipes.search(line):
        raise Permanent(f"Apertium's {mode.path} is more than programs and pipes.", error_class="MODE_INVALID")
    return [[program, "-z", *(word for word in rest if word != "-z")] for program, *rest in programs]


def _mode(path: Path) -> Mode | None:
    """Return the direction of a file; None for what is no plain direction, as steps for debugging are."""
    if (found := _mode_name.match(path.stem)) is None:
        return None
    return Mode(path, _tag("-".join(filter(None, found.group(1, 2)))), _tag("-".join(filter(None, found.group(3, 4)))))


def _tag(language: str) -> str:
    bare, _, rest = language.replace("_", "-").partition("-")
    bare = _TWO.get(bare.lower(), bare.lower())
    return f"{bare}-{rest}" if rest else bare


def _bare(tag: str) -> str:
    return tag.partition("-")[0]


def _distance(there: str, asked: str) -> int:
    """Prefer what was asked for, then what is of no region, then any other."""
    if there.lower() == asked.lower():
        return 0
    return 1 if there == _bare(there) else 2
