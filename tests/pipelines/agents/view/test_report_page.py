"""The report of a session: one file in which nothing that a child wrote is anything but text."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

from leasehold.pipelines.agents.view.report import report_page
from leasehold.pipelines.agents.view.values import ChildStatus, ChildTimes
from tests.pipelines.agents.view.sessions import NASTY, child, session, session_of_all_ends

FETCHING = {"src", "srcset", "data", "poster", "action", "formaction", "background", "ping", "cite", "manifest"}
VOID = {"meta", "input", "wbr", "br", "col"}


class PageReader(HTMLParser):
    """Reads a page as a browser does: its elements, what they would fetch or run, and its texts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.risky, self.links, self.texts = [], [], [], []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.risky += [name for name, _ in attrs if name in FETCHING or name.startswith("on")]
        self.links += [value for name, value in attrs if name in ("href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def _read(self, text):
        self.texts.append(text)

    handle_data = _read  # as the base class calls it


def test_no_text_of_a_child_becomes_an_element_or_a_reference_in_any_field():
    plain, nasty = PageReader(report_page(session_of_all_ends())), PageReader(report_page(session_of_all_ends(NASTY)))
    assert [tag for tag in nasty.tags if tag != "wbr"] == [tag for tag in plain.tags if tag != "wbr"]
    assert plain.risky == nasty.risky == []
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "form"} & set(plain.tags)
    assert all(re.match(r"#[a-z0-9-]+$|\./", link) for link in nasty.links)
    shown = "".join(nasty.texts)
    assert r"<script>alert(1)</script><img src=x onerror='a'>" in shown
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", shown)
    assert not re.search(r"url\(|@import|https?:", report_page(session_of_all_ends(NASTY)))


def test_the_first_sentence_counts_how_children_ended_and_worst_comes_first():
    page = PageReader(report_page(session_of_all_ends()))
    sentence = next(text for text in page.texts if "passed;" in text)
    assert sentence == (
        "1 of 7 children passed; 1 failed, 1 was lost with its coordinator, 1 exceeded a budget, 1 was cancelled,"
        " 1 was stopped with the session, 1 was skipped."
    )
    assert "All 2 children passed." in page_text(session(child(1), child(2)))
    assert "The only child passed." in page_text(session(child(1)))
    assert "The session has no children." in page_text(session())
    assert "0 of 1 child passed; 1 is running." in page_text(session(child(1, ChildStatus.RUNNING)))


def page_text(view):
    return "".join(PageReader(report_page(view)).texts)


def test_two_hundred_children_with_long_texts_make_one_page_that_is_well_formed():
    long = session(*(child(number, ChildStatus.FAILED, f"{NASTY}{'n' * 500}") for number in range(1, 201)))
    page = PageReader(report_page(long))
    assert page.tags.count("rect") == 200
    assert page.tags.count("details") >= 200


def test_budgets_of_a_session_whose_times_were_given_are_drawn_over_the_time_of_their_debits():
    given = datetime(1970, 1, 1, tzinfo=UTC)
    children = [replace(child(number), times=ChildTimes(given, None, given, given)) for number in (1, 4)]
    page = report_page(replace(session(*children), opened=given))
    assert "Tokens over 3.00 s: 10 of 12 spent" in page
    assert "2 dispatches in 0.00 s" in page
