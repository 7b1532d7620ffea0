"""Protected pieces: code, addresses, tags, variables and emphasis characters stand in the candidate as in the source.

A piece is there or it is not, so there are findings and no score: a lost one is a breach of policy, not a degree of
quality. Addresses and variables are found in the source even where nobody listed them.

A candidate also has the markup of its paragraph: as many emphases, links, codes and breaks. A translator keeps every
piece of it as a placeholder; but placeholders whose words went elsewhere may stand side by side and mean nothing, or
something else.
"""

from collections import Counter
from typing import Final

from leasehold.pipelines.translate.documents.markdown_blocks import broken_text, parser
from leasehold.pipelines.translate.reviewers.review import Checked, Review, ReviewFinding, Severity, Subject, quoted
from leasehold.pipelines.translate.reviewers.text import addresses_of, blanked, find_pieces, untouchable, without_flags

MARKUP: Final = "markup"
PLAIN: Final = ("text", "softbreak")
MARKDOWN: Final = "markdown"


def check_kept(subject: Subject) -> Checked:
    candidate = without_flags(subject)
    standing, missing = find_pieces(candidate, subject.kept)
    in_source, _ = find_pieces(subject.source, subject.kept)
    unlisted = [span.of(subject.source) for span in untouchable(blanked(subject.source, in_source))]
    _, more = find_pieces(blanked(candidate, standing), unlisted)
    lost = [f"{quoted(piece)} of the source must stand here unchanged." for piece in missing + more]
    # An address that the source does not have was invented or damaged.
    added = [span for span in addresses_of(subject.candidate) if span.of(subject.candidate) not in subject.source]
    message = "{} does not stand in the source."
    findings = [ReviewFinding("kept_lost", Severity.CRITICAL, each) for each in lost]
    findings += [subject.finding_at(span, "address_added", Severity.CRITICAL, message) for span in added]
    return findings, {}


def review_markup(source: str, candidate: str, document_format: str) -> Review:
    if document_format != MARKDOWN:
        return Review(MARKUP, {}, ())
    wanted, found = _made_of(source), _made_of(broken_text(candidate))
    changed = {name: found[name] - wanted[name] for name in sorted(wanted | found) if found[name] != wanted[name]}
    message = f"The markup is not the source's: {', '.join(f'{count:+d} {name}' for name, count in changed.items())}."
    return Review(MARKUP, {}, (ReviewFinding("markup_changed", Severity.CRITICAL, message),) if changed else ())


def _made_of(text: str) -> Counter[str]:
    children = [child for token in parser(inline=True).parseInline(text) for child in token.children or []]
    names = [child.type for child in children if child.type not in PLAIN and not child.type.endswith("_close")]
    return Counter(name.removesuffix("_open") for name in names)
