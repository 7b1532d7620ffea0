"""From a name to a translator: what is refused, and where a key goes."""

import pytest

from leasehold.pipelines.translate.translators import make_translator
from leasehold.pipelines.translate.translators.endpoints.endpoint import KeyMissing, address_of
from leasehold.pipelines.translate.translators.endpoints.interfaces import make_endpoint
from leasehold.pipelines.translate.translators.translator import TranslatorInvalid
from leasehold.redact import scrub

VENDOR = ("https://api.openai.com/v1", "OPENAI_API_KEY")
OWN = "own-key-0123456789-abcdef"
THEIRS = "vendor-key-0123456789-abcdef"


@pytest.fixture(autouse=True)
def keyless(monkeypatch):
    for name in ("LEASEHOLD_TRANSLATE_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "google",
        "apertium:x",
        "dictionary",
        "dictionary:",
        "openai:",
        "openai:m@ftp://host",
        "openai:m@http://example.org/v1",
        "openai:m@https://user:pass@example.org/v1",
        "openai:m@https://example.org/v1?key=x",
        "openai:m@https://exa mple.org",
        "openai:m@https://",
        "openai:m@https://host:port/",
        "openai:m@https://-ü-\u2028.example",
        "openai:m@https://[::1",
        "openai:m\nx@https://example.org",
        "openai:m@http://127.0.0.1.example.org/v1",
    ],
)
def test_a_name_that_means_no_translator_is_refused(spec, monkeypatch):
    monkeypatch.setenv("LEASEHOLD_TRANSLATE_KEY", OWN)
    with pytest.raises(TranslatorInvalid) as refused:
        make_translator(spec)
    assert "apertium, dictionary:PATH, openai:MODEL" in str(refused.value)
    assert "pass@" not in str(refused.value)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("openai:gpt-x", "openai:gpt-x"),
        ("openai:org/model:free@https://example.org/v1/", "openai:org/model:free"),
        ("anthropic:claude-x", "anthropic:claude-x"),
        ("openai:m@http://localhost:1/v1", "openai:m"),
        ("openai:m@http://[::1]:1/v1", "openai:m"),
    ],
)
def test_a_name_that_means_an_endpoint_makes_one_without_asking_it(spec, name, monkeypatch):
    monkeypatch.setenv("LEASEHOLD_TRANSLATE_KEY", OWN)
    assert make_translator(spec).name == make_endpoint(spec).name == name


def test_a_vendors_key_goes_to_the_vendor_and_our_own_to_whom_was_named(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", THEIRS)
    assert address_of("m", "", *VENDOR).key == THEIRS
    assert address_of("m", "https://api.openai.com/v1/", *VENDOR).key == THEIRS
    assert address_of("m", "http://127.0.0.1:9/v1", *VENDOR).key is None
    with pytest.raises(KeyMissing, match=r"Set LEASEHOLD_TRANSLATE_KEY for example\.org"):
        address_of("m", "https://example.org/v1", *VENDOR)
    monkeypatch.setenv("LEASEHOLD_TRANSLATE_KEY", OWN)
    assert address_of("m", "https://example.org/v1", *VENDOR).key == OWN


def test_without_a_key_the_refusal_names_the_variables_to_set():
    with pytest.raises(KeyMissing, match="LEASEHOLD_TRANSLATE_KEY or OPENAI_API_KEY") as refused:
        make_translator("openai:gpt-x")
    assert refused.value.code == "KEY_MISSING"
    with pytest.raises(KeyMissing, match="LEASEHOLD_TRANSLATE_KEY or ANTHROPIC_API_KEY"):
        make_translator("anthropic:claude-x")


def test_a_key_is_not_printed_and_not_logged(monkeypatch):
    monkeypatch.setenv("LEASEHOLD_TRANSLATE_KEY", OWN)
    place = address_of("m", "", *VENDOR)
    assert OWN not in repr(place)
    assert OWN not in scrub(f"sent with {OWN}")
    monkeypatch.setenv("LEASEHOLD_TRANSLATE_KEY", "two words\nand a line")
    with pytest.raises(KeyMissing) as refused:
        address_of("m", "", *VENDOR)
    assert "two words" not in str(refused.value)
