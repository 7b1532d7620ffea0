"""Whether a candidate has the markup of its paragraph: as many emphases, links, codes and breaks as the source.

A translator keeps every piece of it as a placeholder; but placeholders whose words went elsewhere may stand side by
side and mean nothing, or something else. What a paragraph is made of must not change by being translated.
"""

from collections import Counter
from typing import Final

from leasehold.pipelines.translate.documents.markdown_escaping import broken_text
from leasehold.pipelines.translate.documents.markdown_parsing import parser
from leasehold.pipelines.translate.reviewers.review import Review, ReviewFinding, Severity

NAME: Final = "markup"
PLAIN: Final = ("text", "softbreak")
MARKDOWN: Final = "markdown"


def review_markup(source: str, candidate: str, document_format: str) -> Review:
    """Compare what a paragraph and its candidate are made of."""
    if document_format != MARKDOWN:
        return Review(NAME, {}, ())
    wanted, found = _made_of(source), _made_of(broken_text(candidate))
    changed = {name: found[name] - wanted[name] for name in sorted(wanted | found) if found[name] != wanted[name]}
    if not changed:
        return Review(NAME, {}, ())
    difference = ", ".join(f"{count:+d} {name}" for name, count in changed.items())
    message = f"The markup is not the source's: {difference}."
    return Review(NAME, {}, (ReviewFinding("markup_changed", Severity.CRITICAL, message),))


def _made_of(text: str) -> Counter[str]:
    tokens = parser(inline=True).parseInline(text)
    children = [child for token in tokens for child in token.children or []]
    names = [child.type for child in children if child.type not in PLAIN and not child.type.endswith("_close")]
    return Counter(name.removesuffix("_open") for name in names)
