"""Which pairs are there, read from Apertium's mode files: languages in any spelling, and nothing run but programs."""

import pytest

from leasehold import Permanent
from leasehold.pipelines.translate.translators.apertium.modes import find_mode, installed_modes, programs_of
from leasehold.pipelines.translate.translators.translator import PairUnsupported

LINE = "lt-proc '/a b/x.bin' | apertium-tagger -g $2 '/y.prob' | lt-proc $1 '/z.bin'"


@pytest.fixture
def modes(tmp_path, monkeypatch):
    """Installs modes of these names; their programs are not run."""
    (tmp_path / "modes").mkdir()
    monkeypatch.setenv("APERTIUM_DATADIR", str(tmp_path))

    def install(*names, line=LINE):
        for name in names:
            (tmp_path / "modes" / f"{name}.mode").write_text(line)

    return install


@pytest.mark.parametrize(
    ("source", "target", "name"),
    [
        ("en", "es", "eng-spa"),
        ("eng", "spa", "eng-spa"),
        ("EN-us", "es-MX", "eng-spa"),
        ("es", "en", "spa-eng"),
        ("es", "en-US", "spa-eng_US"),
        ("es", "en-GB", "spa-eng"),
        ("fra", "es", "fr-es"),
        ("pt", "ca-valencia", "por-cat_valencia"),
        ("pt", "ca", "por-cat_valencia"),
    ],
)
def test_a_pair_is_found_in_whatever_letters_it_is_written(modes, source, target, name):
    modes("eng-spa", "spa-eng", "spa-eng_US", "fr-es", "eco-fr-es", "eng-spa-tagger", "por-cat_valencia")
    assert find_mode(source, target).name == name


def test_a_pair_that_is_not_there_is_answered_with_all_that_are(modes):
    modes("fr-es", "spa-eng_US", "eco-fr-es")
    assert [(mode.source, mode.target) for mode in installed_modes()] == [("fr", "es"), ("es", "en-US")]
    with pytest.raises(PairUnsupported, match=r"en→es here\. Installed: fr→es, es→en-US\. .*apt install"):
        find_mode("en", "es")


def test_where_nothing_is_installed_the_error_names_that(modes):
    with pytest.raises(PairUnsupported, match="Installed: none"):
        find_mode("en", "es")


def test_a_mode_is_read_as_programs_that_flush_and_do_not_mark_what_they_do_not_know(modes):
    modes("eng-spa")
    assert programs_of(find_mode("en", "es")) == [
        ["lt-proc", "-z", "/a b/x.bin"],
        ["apertium-tagger", "-z", "-g", "/y.prob"],
        ["lt-proc", "-z", "-n", "/z.bin"],
    ]


@pytest.mark.parametrize(
    "line", ["lt-proc x; rm y", "lt-proc $(id)", "a | | b", "", "lt-proc 'x", "a > b", "a `b`", "a && b"]
)
def test_a_mode_that_is_more_than_programs_and_pipes_is_not_run(modes, line):
    modes("eng-spa", line=line)
    with pytest.raises(Permanent) as refused:
        programs_of(find_mode("en", "es"))
    assert refused.value.error_class == "MODE_INVALID"
