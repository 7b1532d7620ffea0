"""Whatever a translation contains, a Markdown document keeps its blocks."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leasehold.pipelines.translate.documents.markdown import read_markdown
from tests.pipelines.translate.documents.structure import blocks_of

# Every kind of place that a text can stand in, with the neighbours that make it dangerous.
EVERYWHERE = """\
---
title: kept
---
First, with two
lines and a hard\\
break.

# Heading
## Closed ##

Underlined
---

Twice
underlined
===
> Quoted,
lazily.
> > Twice  
> > quoted.

- item
- item with

  a second paragraph
  - inner
    wrapped
1. one
10) ten

a | b
--|--
c | d
e

> | x | y |
> |:-:|---|
> | z\\| | `w` |z

[label]: https://example.org
After a definition.

[other]:
  https://example.org/other
[^note]: A footnote
[^more]: And more,
    of two lines.

    A second paragraph of it.

    > - quoted *in* it

<div>
kept
</div>

    code

```
code
```
***
Last, [label] and [other][], without a line end"""  # noqa: W291 - two spaces are a hard break

PIECES = [
    "# ", "#", "-", "- ", "+ ", "* ", "1. ", "2) ", "> ", "```", "~~~", "---", "===", "***", "___", "|", "\\", "|-|",
    ":-:", "<div>", "<!--", "-->", "<b>", "</p>", "<script>", "<?", "[x]: y", "[^x]:", "[", "]", "]:", "(", ")", '"',
    "'", "\n", "\n\n", "\r", "\r\n", "  \n", "\\\n", "\t", "    ", " ", "\0", "\v", "\f", "\x85", "\u2028", "\xa0",
    "\ud800", "word", "a b", "`", "``", "*", "**", "_", "~~", "&amp;", "⟦1⟧", "{x}", "!", ":", "=",
]  # fmt: skip
NASTY = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_a_document_rendered_with_its_own_texts_is_itself(ending):
    text = "\ufeff" + EVERYWHERE.replace("\n", ending)
    document = read_markdown("x.md", text)
    same = {paragraph.index: paragraph.source for paragraph in document.paragraphs}
    assert document.render(same) == document.render({}) == text.encode()


@given(st.lists(NASTY, min_size=40, max_size=40), st.sampled_from(["\n", "\r\n"]))
@example(["| x"] * 40, "\n")
@example(['"title"'] * 40, "\n")
@example(["x  \n---"] * 40, "\n")
def test_no_translation_changes_the_blocks_of_a_document(texts, ending):
    text = EVERYWHERE.replace("\n", ending)
    document = read_markdown("x.md", text)
    assert len(document.paragraphs) <= len(texts)
    rendered = document.render(dict(enumerate(texts, 1))).decode()
    assert blocks_of(rendered) == blocks_of(text)
    assert len(read_markdown("x.md", rendered).paragraphs) == len(document.paragraphs)
