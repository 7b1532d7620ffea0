"""Glossaries: terms from CSV, TSV and JSON; what is none is refused before anything is written."""

import json

import pytest

from leasehold.pipelines.translate.translators.glossaries import GlossaryInvalid, read_glossary
from tests.pipelines.translate.workspace import HOUSE

TERMS = {"house": "hogar", "red wine": "vino tinto, «fino»"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", 'house,hogar\n# a remark\n\nred wine,"vino tinto, «fino»",a third column\n'),
        ("t.csv", '\ufeffhouse , hogar\r\nred wine,"vino tinto, «fino»"\r\n'),
        ("t.tsv", "house\thogar\nred wine\tvino tinto, «fino»\n"),
        ("t.txt", "house\thogar\nred wine\tvino tinto, «fino»"),
        ("t.json", json.dumps(TERMS)),
        ("T.JSON", json.dumps(TERMS, ensure_ascii=False)),
    ],
)
def test_terms_are_read_from_tables_and_from_objects(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, newline="")
    assert read_glossary(path) == TERMS


BAD = {
    "empty": ("t.csv", b"", "0 terms"),
    "one column": ("t.csv", b"house\n", "line 1: it has no translation"),
    "blank translation": ("t.csv", b"house, \n", "term 1"),
    "long term": ("t.csv", b"h" * 201 + b",x\n", "1 to 200 characters"),
    "a field without an end": ("t.csv", b'"' + b"a" * 200_000, "field"),
    "NUL": ("t.csv", b"a\0b,c\n", "t.csv"),
    "not UTF-8": ("t.csv", b"caf\xe9,x\n", "no UTF-8 text"),
    "large": ("t.csv", b"a,b\n" * 250_001, "more than 1,000,000 bytes"),
    "too many": ("t.csv", b"".join(b"a%d,b\n" % number for number in range(2_001)), "2,001 terms"),
    "no JSON": ("t.json", b"{", "t.json"),
    "deep JSON": ("t.json", b"[" * 200_000, "t.json"),
    "a list": ("t.json", b"[]", "holds no object"),
    "no text": ("t.json", b'{"house": 7}', "term 1"),
    "half a character": ("t.json", b'{"house": "\\ud800"}', "term 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_glossary_is_refused_with_its_place(tmp_path, name):
    file, content, reason = BAD[name]
    (tmp_path / file).write_bytes(content)
    with pytest.raises(GlossaryInvalid, match=reason):
        read_glossary(tmp_path / file)


def test_the_terms_of_a_glossary_stand_in_the_translation_and_a_bad_one_leaves_nothing(workspace):
    workspace.write(HOUSE)
    terms = workspace.folder / "terms.csv"
    for bad in (workspace.folder, workspace.folder / "none.csv"):
        answer = workspace.translate("--glossary", str(bad))
        assert (answer.exit_code, "GLOSSARY_INVALID" in answer.stderr) == (2, True)
    assert not workspace.out.exists()
    terms.write_text("house,hogar\n")
    assert workspace.translate("--glossary", str(terms)).exit_code == 0
    assert workspace.final() == ["La hogar es roja."]
    (row,) = workspace.rows("state/paragraph_scores.jsonl")
    assert row["scores"]["terminology"] == 1.0
