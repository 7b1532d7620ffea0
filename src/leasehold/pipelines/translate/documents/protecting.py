"""What a translator must not change, set aside: each piece becomes a placeholder ⟦1⟧, ⟦2⟧ … and comes back.

`restore(protect(source, format).text, protect(source, format).kept)` is `source`, for every text. What a translator
does to placeholders decides the rest: one that is left out is left out of the result, one that is repeated is repeated,
and one with a number that was never given stays visible as it is, so that a reviewer and a reader find it.
"""

import re
from dataclasses import dataclass
from typing import Final

_placeholder: Final = re.compile(r"⟦\s*([0-9]{1,6})\s*⟧")

# What begins or ends markup around words.
_pair: Final = re.compile(r"[*_~]+|!?\[|\][\s\S]+|</?[A-Za-z0-9][^<>]*>")

# Every repetition is bounded or ends at a character that it cannot cross, so that no text takes long to search.
_brackets = r"[⟦⟧]+"
_web = r"(?:https?|ftp)://[^\s<>\"⟦⟧“”«»]{0,2000}[^\s<>\"⟦⟧“”«».,;:!?'’*_~)\]}]|\bwww\.[\w-]{1,63}\.[\w./-]{1,200}\w"
_mail = r"\b[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}\b"
_braces = r"\$?\{\{[^{}\n]{0,200}\}\}|\$?\{[\w.:!\[\]-]{0,100}\}"
_width = r"[-+0#]*\d{0,4}(?:\.\d{1,4})?"
_percent = (
    rf"%\([\w.]{{1,100}}\){_width}[sdiufgxXeEcr]|(?<![\w%])%(?:\d\$)?{_width}l{{0,2}}[sdiufgxXeEcrp@](?![A-Za-z])"
)
_variable = r"(?<![\w$])\$[A-Z_][A-Z0-9_]+\b"
_entity = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
# What stands between these tags is no text for people.
_element = r"<(?P<element>code|kbd|samp|var|script|style)\b[^<>]{0,200}>[\s\S]{0,2000}?</(?P=element)\s{0,9}>"
_tag = r"<!--[\s\S]{0,2000}?-->|</?[A-Za-z][A-Za-z0-9-]{0,30}(?:\s[^<>]{0,4000})?/?>"
_plain: Final = (_brackets, _web, _mail, _braces, _percent, _variable)

_code = r"(?<!`)(?P<ticks>`{1,32})(?!`)[\s\S]{1,20000}?(?<!`)(?P=ticks)(?!`)"
_escape = r"\\[!-/:-@\[-`{-~]"
_hard_break = r"(?: {2,}|\\)\n[ \t]*|\n"
_autolink = r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000}>|<[\w.+-]{1,64}@[\w.-]{1,255}>"
_footnote = r"\[\^[^\]\s\[]{1,200}\]"
_task = r"\A\[[ xX]\](?=\s)"
_math = r"\$\$[^$]{1,5000}\$\$|(?<![\w$\\])\$(?=[^\s$])[^$\n]{0,500}?[\\^_{=][^$\n]{0,500}?(?<=[^\s\\])\$(?![\w$])"
_target = r"<[^<>\n]{0,2000}>|(?:[^\s()<>\\]|\\.|\([^\s()]{0,2000}\)){0,2000}"
_title = r"\"(?:[^\"\\]|\\.){0,2000}\"|'(?:[^'\\]|\\.){0,2000}'|\((?:[^()\\]|\\.){0,2000}\)"
_link_end = rf"\]\(\s*(?:{_target})(?:\s+(?:{_title}))?\s*\)|\]\[[^\[\]\n]{{1,999}}\]"
_link_start = r"!?\[(?=[^\[\]])"
_emphasis = r"(?<!\s)\*+|\*+(?!\s)|(?<!\w)_+(?!\s)|(?<!\s)_+(?!\w)|~~"

_markdown: Final = (
    _brackets, _escape, _code, _hard_break, _autolink, _element, _tag, _entity, _task, _footnote, _math, _web, _mail,
    _braces, _percent, _variable, _link_end, _link_start, _emphasis,
)  # fmt: skip
_docx: Final = (_brackets, r"</?[0-9]{1,6}/?>", r"[\t\n]", *_plain)
_po: Final = (_brackets, r"[\t\n]", _element, _tag, _entity, "%%", *_plain)
_patterns: Final = {
    name: re.compile("|".join(f"(?:{part})" for part in parts))
    for name, parts in {"markdown": _markdown, "text": _plain, "docx": _docx, "po": _po}.items()
}


@dataclass(frozen=True, slots=True)
class Protected:
    """A text for a translator, and what each of its placeholders stands for: `kept[0]` for ⟦1⟧, and so on."""

    text: str
    kept: tuple[str, ...]


def protect(source: str, format: str) -> Protected:  # noqa: A002 - it is the document's `format`
    """Set aside what must not change in a paragraph of a document of this format."""
    kept: list[str] = []
    parts: list[str] = []
    end = 0
    for found in _patterns[format].finditer(source):
        kept.append(found.group())
        parts += source[end : found.start()], f"⟦{len(kept)}⟧"
        end = found.end()
    return Protected("".join([*parts, source[end:]]), tuple(kept))


def restore(text: str, kept: tuple[str, ...]) -> str:
    """Put back what the placeholders stand for; ⟦ 1 ⟧ is one too. An unknown one stays visible."""

    def piece(found: re.Match[str]) -> str:
        place = int(found[1])
        return kept[place - 1] if 1 <= place <= len(kept) else found.group()

    return _placeholder.sub(piece, text)


def respace(text: str, protected: Protected) -> str:
    """Move spaces that a translator put inside of emphasis, links and tags to where the source has them: outside.

    `** word **` is no emphasis, so a space more would lose the markup. A text that was not translated stays as it is.
    """
    for number, kept in enumerate(protected.kept, 1):
        if _pair.fullmatch(kept):
            text = _hugged(text, protected.text, f"⟦{number}⟧")
    return text


def _hugged(text: str, source: str, placeholder: str) -> str:
    before, _, after = source.partition(placeholder)
    made_before, found, made_after = text.partition(placeholder)
    if not found:
        return text
    is_opening = after[:1].strip() and not before[-1:].isalnum()
    is_closing = before[-1:].strip() and not after[:1].isalnum()
    if is_opening and not is_closing and made_after[:1].isspace():
        gap = " " if before[-1:].isspace() and made_before[-1:].strip() else ""
        return f"{made_before}{gap}{placeholder}{made_after.lstrip()}"
    if is_closing and not is_opening and made_before[-1:].isspace():
        gap = " " if after[:1].isspace() and made_after[:1].strip() else ""
        return f"{made_before.rstrip()}{placeholder}{gap}{made_after}"
    return text
