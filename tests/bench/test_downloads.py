"""The benchmark of downloads: ratios of medians, settings that were chosen, and fetches that must be right."""

import pytest

from bench.compare.figures import Results, Sample
from bench.downloads.document import judge, markdown, spread, terminal
from bench.downloads.fetchers import OURS, Wrong, check, hashed
from bench.downloads.server import SMALL_MAX, SMALL_MIN, Matter, Source, small_sizes


def results(**seconds: list[float]) -> Results:
    """Make results from names such as `small__aria2c`, one figure a round."""
    facts = {
        "date": "2026-01-01",
        "commit": "abc",
        "rounds": 3,
        "files": 5_000,
        "bytes": 500_000_000,
        "small_bytes": 170_000_000,
        "cores": 2,
        "memory_gib": 4,
        "system": "Linux",
        "python": "3.11",
        "versions": {"aria2c": "1.36.0"},
        "settings": {"small": {"aria2c": "-j16"}},
        "trials": [["small", "aria2c", "-j16", 20.0]],
    }
    made = Results(facts)
    for name, values in seconds.items():
        workload, peer = name.split("__")
        for number, value in enumerate(values):
            made.add(Sample("sqlite", peer, workload, number, value))
    return made


def test_a_goal_is_the_ratio_of_rates_which_is_that_of_seconds_turned_round():
    made = results(small__leasehold=[20.0, 30.0, 25.0], small__aria2c=[20.0, 10.0, 30.0])
    small, resumable, large = judge(made)
    assert resumable.reached is None
    assert small.value == 20.0 / 25.0
    assert small.reached
    assert large.reached is None


def test_the_range_is_that_of_single_rounds():
    made = results(small__leasehold=[20.0, 40.0], small__aria2c=[20.0, 10.0])
    assert spread(made, "small") == (0.25, 1.0)
    assert spread(made, "large") is None


def test_the_document_names_rates_settings_and_missed_goals():
    made = results(small__leasehold=[50.0], small__aria2c=[25.0], large__leasehold=[2.0], large__aria2c=[2.0])
    page = markdown(made)
    assert "| MISSED | 5,000 files of 4 to 64 kB, 170 MB | aria2c | 0.50 × | 0.50–0.50 | ≥ 0.7 |" in page
    assert "| reached | One file of 500 MB | aria2c | 1.00 × | 1.00–1.00 | ≥ 0.8 |" in page
    assert "| aria2c | 200 files/s | 25.00 s | 25.00 s | 25.00 s | `-j16` |" in page
    assert "MISSED" in terminal(made)


def test_small_files_have_the_same_mixed_sizes_at_every_run():
    sizes = small_sizes(1_000)
    assert sizes == small_sizes(1_000)
    assert SMALL_MIN <= min(sizes) < 8_000
    assert 60_000 < max(sizes) <= SMALL_MAX


def test_files_to_fetch_are_made_with_their_addresses_and_hashes(tmp_path):
    matter = Source(tmp_path, 8_080).make("small", [10, 2_000_001])
    made = sorted((tmp_path / "files" / "small").iterdir())
    assert [path.stat().st_size for path in made] == [10, 2_000_001]
    assert matter.hashes == {hashed(path) for path in made}
    assert matter.addresses.read_text().splitlines() == [
        "http://127.0.0.1:8080/small/00000.bin",
        "http://127.0.0.1:8080/small/00001.bin",
    ]


def test_a_fetch_that_brought_another_byte_is_void(tmp_path):
    (tmp_path / "sha256").mkdir()
    (tmp_path / "sha256" / "one").write_bytes(b"right")
    right = frozenset({hashed(tmp_path / "sha256" / "one")})
    check(OURS, tmp_path, Matter("one", tmp_path / "list", right, 5))
    (tmp_path / "sha256" / "one").write_bytes(b"wrong")
    with pytest.raises(Wrong, match="0 of 1 files"):
        check(OURS, tmp_path, Matter("one", tmp_path / "list", right, 5))
