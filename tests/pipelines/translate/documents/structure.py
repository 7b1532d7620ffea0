"""The structure of a Markdown text, to be compared: its blocks, and what is inside them other than plain text."""

from leasehold.pipelines.translate.documents.markdown_blocks import front_matter, parser

WORDS = {"text", "softbreak"}


def blocks_of(text):
    """Return front matter, definitions and the tokens of every block, with the content of those not translated."""
    head = front_matter(text)
    env: dict = {}
    tokens = parser(inline=True).parse(text[len(head) :], env)
    shapes = [
        (token.type, token.tag, token.level, token.markup, token.info, token.hidden, dict(token.attrs), own(token))
        for token in tokens
    ]
    definitions = {label: (one["href"], one["title"]) for label, one in env.get("references", {}).items()}
    return head, definitions, shapes


def texts_of(text):
    """Return the text of each block, as markdown-it has it."""
    return {token.content for token in parser().parse(text[len(front_matter(text)) :]) if token.type == "inline"}


def own(token):
    return "" if token.type == "inline" else token.content


def inlines_of(text):
    """Return the markup inside each block, in order: what is not a word."""
    tokens = parser(inline=True).parse(text[len(front_matter(text)) :])
    inlines = [token.children or [] for token in tokens if token.type == "inline"]
    return [[markup(child) for child in children if child.type not in WORDS] for children in inlines]


def markup(child):
    is_kept = child.type in ("code_inline", "html_inline", "text_special")
    return child.type, child.markup, dict(child.attrs) | {"alt": ""}, child.content if is_kept else ""
