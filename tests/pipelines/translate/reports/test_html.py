"""The report of a run: everything about a paragraph side by side, escaped, and nothing that a browser would fetch."""

import re
from html.parser import HTMLParser

import pytest

from leasehold.pipelines.translate.documents.document import Paragraph
from leasehold.pipelines.translate.gate import Assessment, Outcome, Priority, ReworkReason
from leasehold.pipelines.translate.history import ParagraphHistory, PlannedParagraph, StateChange
from leasehold.pipelines.translate.paragraphs import Try
from leasehold.pipelines.translate.reports.report import report_page
from leasehold.pipelines.translate.reviewers.review import Review, ReviewFinding, Severity
from leasehold.pipelines.translate.settings import RunIdentity
from tests.pipelines.translate.workspace import HOUSE, SHY, spanish

NASTY = """<script>alert("1")</script> & 'quotes' "too" <img src="https://example.org/x" onerror=alert(1)> ]]> </div>"""
FETCHING = {"src", "srcset", "href", "action", "data", "poster", "formaction", "background", "xlink:href"}
TEXTLESS = {"meta", "br"}

AT = "2026-01-01T00:00:00Z"


class Reader(HTMLParser):
    """Reads a page as a browser does: its elements, whether they close, and the text of each sort."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.fetched, self.open = [], [], []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.fetched += [value for name, value in attrs if name in FETCHING and not value.startswith("#")]
        self.fetched += [name for name, _ in attrs if name.startswith("on")]
        if tag not in TEXTLESS:
            self.open.append(tag)
            self.texts.append((tag, ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def _read(self, text):
        if self.open:
            self.texts.append((self.open[-1], text))

    handle_data = _read  # as the base class calls it

    def of(self, tag):
        return [text for name, text in self.texts if name == tag and text]


def identity(name="story.md"):
    return RunIdentity("story-en-es", name, "markdown", "en", "es", AT)


def finding(start, length, code="left_over", message="It is left over.", severity=Severity.MAJOR):
    return ReviewFinding(code, severity, message, start, length)


def tried(candidate, *findings, attempt=1, actor="somebody", note=""):
    assessment = Assessment(
        {"adequacy": 0.25, "fluency": 1.0}, Outcome.REWORK, (ReworkReason.LOW_ADEQUACY,), Priority.LOW, ()
    )
    reviews = (Review("sharp eye", {}, tuple(findings)),)
    return Try(attempt, 1, candidate, actor, AT, reviews, assessment, AT, "rework_required", note=note)


def page(source, *tries, failure="", name="story.md"):
    history = ParagraphHistory(
        Paragraph(1, source),
        PlannedParagraph("k", 1, "rework_required"),
        (StateChange("rework_required", AT),),
        tries,
        failure,
    )
    return report_page(identity(name), [history])


def marks(candidate, *findings):
    return Reader(page("source", tried(candidate, *findings))).of("mark")


def test_source_candidates_scores_and_findings_stand_side_by_side():
    reader = Reader(page(SHY, tried("Uno dos.", finding(4, 3)), tried("Tres.", attempt=2, note="look here")))
    divs = reader.of("div")
    assert divs[:2] == [SHY, "Tres."]  # the source, and next to it the best candidate
    assert "Uno " in divs
    assert reader.of("mark") == ["dos"]
    assert reader.of("td")[-4:] == ["major", "left_over", "It is left over.", "dos"]
    summary = "somebody — adequacy 0.25, fluency 1.00 — low_adequacy"
    assert reader.of("summary") == [f"attempt 1, {summary}", f"attempt 2, {summary}; look here"]
    assert reader.of("span") == ["rework_required"]
    assert reader.of("a") == ["Overview", "Paragraphs", "1"]


@pytest.mark.parametrize("field", ["source", "candidate", "message", "code", "actor", "note", "failure", "name"])
def test_nothing_in_a_page_is_anything_but_text_wherever_it_came_from(field):
    given = dict.fromkeys(("source", "candidate", "message", "code", "actor", "note", "failure"), "plain")
    given["name"] = "plain.md"
    plain = Reader(page_with(**given))
    nasty = Reader(page_with(**given | {field: NASTY}))
    assert nasty.tags == plain.tags
    assert nasty.fetched == plain.fetched == []
    assert NASTY in "".join(text for _, text in nasty.texts)


def page_with(*, source, candidate, message, code, actor, note, failure, name):
    found = finding(0, 0, code, message)
    return page(source, tried(candidate, found, actor=actor, note=note), failure=failure, name=name)


def test_spans_count_characters_also_where_some_take_more_than_one_unit():
    candidate = "🏠🏠 casa 👨‍👩‍👧 é fin"
    assert marks(candidate, finding(3, 4)) == ["casa"]
    assert marks(candidate, finding(8, 5)) == ["👨‍👩‍👧"]
    assert marks(candidate, finding(candidate.index("fin"), 3)) == ["fin"]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 3), (4, 3)], "[uno] [dos] tres"),
        ([(4, 3), (0, 3)], "[uno] [dos] tres"),
        ([(0, 7), (4, 3)], "[uno dos] tres"),
        ([(0, 5), (4, 3)], "[uno dos] tres"),
        ([(0, 3), (0, 7)], "[uno dos] tres"),
        ([(4, 3), (4, 3)], "uno [dos] tres"),
        ([(0, 12), (4, 3), (8, 4)], "[uno dos tres]"),
        ([(8, 400)], "uno dos [tres]"),
        ([(400, 3)], "uno dos tres"),
        ([(0, 0)], "uno dos tres"),
        ([(None, None)], "uno dos tres"),
    ],
)
def test_findings_that_overlap_mark_every_character_once(spans, expected):
    made = page("source", tried("uno dos tres", *(finding(*span) for span in spans)))
    (shown,) = re.findall(r"<div></div><div>(.*?)</div>", made)
    assert shown.replace("<mark>", "[").replace("</mark>", "]") == expected


def test_the_report_of_a_run_is_one_page_that_holds_all_of_it(workspace):
    workspace.document = workspace.document.with_suffix(".txt")
    workspace.document.write_text(f"{HOUSE}\n\n{SHY} {NASTY}\n")
    assert workspace.translate().exit_code == 1
    text = (workspace.run_folder / "report.html").read_text()
    reader = Reader(text)
    assert reader.fetched == []
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(reader.tags)
    assert not re.search(r"url\(|@import", text)
    assert [HOUSE, spanish(HOUSE)] == reader.of("div")[:2]
    assert f"{SHY} {NASTY}" in reader.of("div")
    assert {"approved", "rework_required"} == set(reader.of("span"))
    assert {"date_lost", "negation_lost", "wrong_language"} <= set(reader.of("td"))
    assert all("frobnicator" in text for text in reader.of("mark"))
