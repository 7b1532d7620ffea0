"""The words of the house's old dialect, and where they stand: in names by their parts, in prose as whole words.

The field has its own word for each of these (a notifier, not a mouth), or a plain one (returns, not tells).
"""

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator

from tests.tidy.tree import Source, docstrings

DIALECT = {
    "anew", "beside", "company", "cradle", "crew", "deed", "dismiss", "ear", "forsake", "forsaken", "heed", "hush",
    "lesson", "linger", "mourn", "mouth", "nestling", "nudge", "nursery", "onlooker", "parting", "pen", "pour",
    "quicken", "said", "say", "shelf", "shelve", "sight", "stray", "tell", "teller", "told", "wish",
}  # fmt: skip
PHRASES = ("as it comes", "at hand", "by hand", "of its own accord", "whoever")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Code inside prose has the names of code; other rules read those.
CODE = re.compile(r"```.*?```|``.*?``|`[^`]*`", re.DOTALL)
PHRASE = re.compile(r"\b(" + "|".join(phrase.replace(" ", r"\s+") for phrase in PHRASES) + r")\b", re.IGNORECASE)


@functools.cache
def stem(word: str) -> str:
    """Return the word of the list that this is a form of: nudged → nudge. Other words come back as they are."""
    low = word.lower()
    forms = [low, *(low.removesuffix(end) + more for end in ("s", "es", "ed", "ing") for more in ("", "e"))]
    return next((form for form in forms if form in DIALECT), low)


def dialect_in_name(name: str) -> set[str]:
    """Return the words of the dialect that a name is made of."""
    return {stem(word) for word in WORD.findall(name)} & DIALECT


def dialect_in_prose(text: str) -> set[str]:
    """Return the words and phrases of the dialect that a text uses."""
    plain = CODE.sub(" ", text)
    phrases = {" ".join(found.lower().split()) for found in PHRASE.findall(plain)}
    return ({stem(word) for word in re.findall(r"[^\W\d_]+", plain)} & DIALECT) | phrases


def may_use_dialect(source: Source) -> bool:
    """Whether a word of the dialect stands anywhere in a file: few have one, and to read a file's parts takes long."""
    return bool(dialect_in_name(f"{source.path.stem} {source.text}") or PHRASE.search(source.text))


def names_of(source: Source) -> Iterator[str]:
    """Yield every name that a file gives: its own, and those of classes, functions, parameters and variables."""
    yield source.path.stem
    for node in source.nodes:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr


def prose_of(source: Source) -> Iterator[str]:
    """Yield what a file says to people: docstrings, comments, and texts of more than one word."""
    own = docstrings(source)
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (id(node) in own or " " in node.value):
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
