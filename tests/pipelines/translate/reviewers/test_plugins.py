"""Reviewers of others are found by their entry points, and refused by name if they fail or lie."""

from importlib.metadata import EntryPoint

import pytest

from leasehold.errors import LeaseholdError, Transient
from leasehold.pipelines.translate.reviewers.plugins import (
    FINDINGS_OF_A_PLUGIN_MAX,
    GROUP,
    CheckedReviewer,
    ReviewerRefused,
    load_reviewers,
)
from leasehold.pipelines.translate.reviewers.review import Review, ReviewFinding, Severity
from leasehold.pipelines.translate.reviewers.standard import standard_reviewers
from tests.pipelines.translate.reviewers.foreign import CannedReviewer, Failing, Waiting
from tests.pipelines.translate.reviewers.subjects import pointed_at, subject

SUBJECT = subject("Hello!", "🙂 ¡Hola!")


def entry(name, value):
    return EntryPoint(name, f"tests.pipelines.translate.reviewers.foreign:{value}", GROUP)


def checked(reviewer):
    return CheckedReviewer(reviewer.name, "'theirs' (their.package:made)", reviewer)


def finding(**changes):
    return ReviewFinding(**({"code": "x", "severity": Severity.MINOR, "message": "m"} | changes))


def test_an_installed_package_brings_its_reviewer(tmp_path, monkeypatch):
    folder = tmp_path / "polite-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: polite\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        f"[{GROUP}]\npolite = tests.pipelines.translate.reviewers.foreign:Polite\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    reviewers = load_reviewers(taken=standard_reviewers())
    assert [reviewer.name for reviewer in reviewers] == ["polite"]
    review = reviewers[0].review(SUBJECT)
    assert review.scores == {"style": 0.5}
    assert pointed_at(review.findings[0], SUBJECT.candidate) == "!"


def test_reviewers_come_in_the_order_of_their_names():
    found = load_reviewers([entry("z", "Failing"), entry("a", "Waiting")])
    assert [reviewer.name for reviewer in found] == ["waiting", "failing"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("broken", r"could not be made: RuntimeError\('no licence'\)"),
        ("nothing", "could not be made: AttributeError"),
        ("Nameless", "its name is 'Not A Name'"),
        ("Idle", "no method 'review'"),
        ("Numbers", "a reviewer called 'numbers' already"),
    ],
)
def test_a_plugin_that_cannot_serve_is_refused_by_its_name(value, reason):
    with pytest.raises(ReviewerRefused, match=rf"'theirs' \(tests\..*foreign:{value}\): .*{reason}") as refused:
        load_reviewers([entry("theirs", value)], taken=standard_reviewers())
    assert refused.value.code == "REVIEWER_REFUSED"
    assert isinstance(refused.value, LeaseholdError)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "NoneType, not a Review"),
        (Review("other", {}, ()), "signs as “other”"),
        (Review("canned", {"beauty": 1.0}, ()), "'beauty' = 1.0 is not known"),
        (Review("canned", {"style": 1.01}, ()), r"style = 1.01 is outside of \[0, 1\]"),
        (Review("canned", {"style": -0.1}, ()), "style = -0.1"),
        (Review("canned", {"style": float("nan")}, ()), "style = nan"),
        (Review("canned", {"style": True}, ()), "style = True"),
        (Review("canned", [], ()), "scores are a mapping"),  # type: ignore[arg-type]
        (Review("canned", {}, None), "findings a tuple"),  # type: ignore[arg-type]
        (Review("canned", {}, ("x",)), "a finding is a str"),  # type: ignore[arg-type]
        (Review("canned", {}, (finding(code="Bad code"),)), "code 'Bad code'"),
        (Review("canned", {}, (finding(code="x" * 65),)), "at most 64"),
        (
            Review("canned", {}, (finding(severity="fatal"),)),
            "severity 'fatal' is none of info, minor, major, critical",
        ),
        (Review("canned", {}, (finding(message="m" * 2001),)), "at most 2,000 characters"),
        (Review("canned", {}, (finding(start=0, length=9),)), "start 0, length 9 is not inside of a candidate of 8"),
        (Review("canned", {}, (finding(start=-1, length=1),)), "start -1"),
        (Review("canned", {}, (finding(start=8, length=1),)), "start 8"),
        (Review("canned", {}, (finding(start=0),)), "start 0, length None"),
        (Review("canned", {}, (finding(),) * (FINDINGS_OF_A_PLUGIN_MAX + 1)), "1,001 findings; the limit is 1,000"),
    ],
)
def test_a_plugin_that_lies_is_refused_by_its_name(answer, reason):
    with pytest.raises(ReviewerRefused, match=rf"'theirs' \(their.package:made\): .*{reason}"):
        checked(CannedReviewer(answer)).review(SUBJECT)


def test_a_plugin_that_fails_is_refused_with_its_reason():
    with pytest.raises(ReviewerRefused, match=r"'theirs' .*ZeroDivisionError\('🙂 ¡Hola!'\)") as refused:
        checked(Failing()).review(SUBJECT)
    assert isinstance(refused.value.__cause__, ZeroDivisionError)


def test_a_plugin_that_asks_to_be_tried_later_is_not_refused():
    with pytest.raises(Transient, match="busy"):
        checked(Waiting()).review(SUBJECT)


def test_an_honest_review_is_passed_on_as_it_is():
    honest = Review("canned", {"style": 1, "adequacy": 0.0}, (finding(start=8, length=0), finding(start=0, length=8)))
    assert checked(CannedReviewer(honest)).review(SUBJECT) is honest
