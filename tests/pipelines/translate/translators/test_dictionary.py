"""The dictionary translator and the log of calls: what tests of the flow build on, so both are tested themselves."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from leasehold import Permanent
from leasehold.pipelines.translate.translators import make_translator
from leasehold.pipelines.translate.translators.translator import PairUnsupported, TranslationRequest, TranslatorInvalid
from tests.pipelines.translate.translators.call_log import LoggedTranslator

WORDS = {"the": "la", "house": "casa", "red": "roja", "is": "es"}


@pytest.fixture
def dictionary(tmp_path):
    def make(log=None, **fields):
        path = tmp_path / "words.json"
        path.write_text(json.dumps({"words": WORDS} | fields))
        made = make_translator(f"dictionary:{path}")
        return made if log is None else LoggedTranslator(made, log)

    return make


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_words_are_replaced_one_by_one_and_placeholders_stay(dictionary):
    made = dictionary().translate(TranslationRequest("The ⟦1⟧ house\nis ⟦2⟧red⟦3⟧, Tom.", "en", "es"))
    assert made.text == "La ⟦1⟧ casa\nes ⟦2⟧roja⟦3⟧, Tom."
    assert made.translator == "dictionary words.json"


def test_another_attempt_takes_other_words_and_the_glossary_comes_first(dictionary):
    made = dictionary(again={"house": "hogar"})
    assert made.translate(TranslationRequest("house", "en", "es")).text == "casa"
    assert made.translate(TranslationRequest("house", "en", "es", attempt=2)).text == "hogar"
    assert made.translate(TranslationRequest("house", "en", "es", glossary={"House": "vivienda"})).text == "vivienda"


def test_a_dictionary_of_two_languages_refuses_others(dictionary):
    made = dictionary(source_language="en", target_language="es")
    made.check("en", "es")
    with pytest.raises(PairUnsupported, match="for en→es, not for en→fr"):
        made.check("en", "fr")
    with pytest.raises(PairUnsupported, match="no language tag"):
        dictionary().check("english language", "es")


@pytest.mark.parametrize("content", ["", "[]", '{"words": 1}', '{"words": {}, "other": 1}', "\xff"])
def test_a_file_that_is_no_dictionary_is_refused(tmp_path, content):
    path = tmp_path / "words.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(TranslatorInvalid, match=r"words\.json"):
        make_translator(f"dictionary:{path}")


def test_a_dictionary_that_cannot_be_read_is_refused_with_the_reason(tmp_path):
    with pytest.raises(TranslatorInvalid, match="No such file"):
        make_translator(f"dictionary:{tmp_path}/none.json")
    with pytest.raises(TranslatorInvalid, match="Is a directory"):
        make_translator(f"dictionary:{tmp_path}")


def test_every_call_that_ends_is_one_line_of_the_log(dictionary, tmp_path):
    log = tmp_path / "calls.jsonl"
    made = dictionary(log)
    made.check("en", "es")
    made.translate(TranslationRequest("the house", "en", "es", attempt=3))
    with pytest.raises(Permanent):
        made.translate(TranslationRequest("the\0house", "en", "es"))
    first, second = lines(log)
    assert first.pop("at") > 0
    assert first == {
        "sha256": hashlib.sha256(b"the house").hexdigest(),
        "attempt": 3,
        "translator": "dictionary words.json",
        "ended": "answered",
    }
    assert (second["attempt"], second["ended"]) == (1, "TEXT_INVALID")
    assert log.stat().st_mode & 0o777 == 0o600


def test_lines_of_many_threads_are_whole_and_none_is_missing(dictionary, tmp_path):
    made = dictionary(tmp_path / "calls.jsonl")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: made.translate(TranslationRequest("house", "en", "es", attempt=n)), range(1, 401)))
    assert sorted(line["attempt"] for line in lines(tmp_path / "calls.jsonl")) == list(range(1, 401))
