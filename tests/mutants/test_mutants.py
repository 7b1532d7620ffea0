"""The broken builds still break what is there: a text that has moved on would sabotage nothing."""

from pathlib import Path

import pytest

from tests.mutants.mutants import BUILDS

SOURCE = Path(__file__).parents[2] / "src" / "leasehold"


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.name)
def test_a_build_changes_one_place_of_the_source(build):
    assert (SOURCE / build.file).read_text(encoding="utf-8").count(build.good) == 1
    assert build.good != build.bad


def test_there_are_at_least_thirty_builds_with_names_of_their_own():
    assert len({build.name for build in BUILDS}) == len(BUILDS) >= 30


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.name)
def test_the_tests_that_should_find_a_build_out_exist(build):
    for name in build.tests:
        file, _, function = name.partition("[")[0].partition("::")
        assert f"def {function}" in (SOURCE.parents[1] / file).read_text(encoding="utf-8")
