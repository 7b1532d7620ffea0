"""Mutants of reviews: of the allow-list, of what is fetched, of the contract, and of reconciliation."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

FETCH = "pipelines/review/fetch"
CONTRACT = "pipelines/review/contract"
TESTS = "tests/pipelines/review"
PERFORCE = f"{TESTS}/fetch/test_perforce.py"
ALLOW_LIST = f"{TESTS}/fetch/test_allow_list.py"

MUTANTS: Final = (
    Mutant(
        "a folder of the allow-list admits its siblings with a longer name",
        f"{FETCH}/allow_list.py",
        'canonical_depot_path(entry.removesuffix(BELOW)) + "/"',
        "canonical_depot_path(entry.removesuffix(BELOW))",
        (f"{ALLOW_LIST}::test_every_other_path_is_denied_with_the_reason",),
    ),
    Mutant(
        "an empty allow-list is accepted",
        f"{FETCH}/allow_list.py",
        'raise AllowListInvalid("It has none.")',
        "pass",
        (f"{ALLOW_LIST}::test_an_allow_list_that_is_empty_not_canonical_or_too_broad_is_refused_whole",),
    ),
    Mutant(
        "a path may go up",
        f"{FETCH}/allow_list.py",
        '{"", ".", ".."}.isdisjoint',
        '{"", "."}.isdisjoint',
        (f"{ALLOW_LIST}::test_every_other_path_is_denied_with_the_reason",),
    ),
    Mutant(
        "a path may hide its way up in escapes",
        f"{FETCH}/allow_list.py",
        "if code not in ESCAPES:",
        "if not code:",
        (f"{ALLOW_LIST}::test_every_other_path_is_denied_with_the_reason",),
    ),
    Mutant(
        "paths that somebody asks for are not checked",
        f"{FETCH}/fetcher.py",
        "self._allow_list.check_asked(path)",
        "pass",
        (f"{PERFORCE}::test_a_path_outside_that_somebody_asks_for_is_denied_before_p4_is_asked",),
    ),
    Mutant(
        "the files of a described change are not checked",
        f"{FETCH}/fetcher.py",
        "for file in change.files:\n            self._allow_list.check(file.path)",
        "for file in change.files:\n            pass",
        (f"{PERFORCE}::test_one_file_outside_refuses_the_whole_change_before_any_content_is_fetched",),
    ),
    Mutant(
        "a file that comes back is not checked again",
        f"{FETCH}/fetcher.py",
        "if self._allow_list.check(answer.path) != self._allow_list.check(file.path):",
        "if not answer.path:",
        (f"{PERFORCE}::test_a_file_that_comes_back_is_checked_again",),
    ),
    Mutant(
        "a denied path is not reported",
        f"{FETCH}/fetcher.py",
        'self._on_denied(path_denied(f"p4 {number}", denied.path, denied.reason))\n            raise',
        "raise",
        (f"{PERFORCE}::test_one_file_outside_refuses_the_whole_change_before_any_content_is_fetched",),
    ),
    Mutant(
        "p4 answers in text, in which a description can forge a field",
        f"{FETCH}/perforce.py",
        'OPTIONS: Final = ("-Mj", "-ztag")',
        'OPTIONS: Final = ("-ztag",)',
        (f"{PERFORCE}::test_a_description_cannot_forge_a_field",),
    ),
    Mutant(
        "git reads the configuration of the repository that is reviewed",
        f"{FETCH}/git_changes.py",
        '"GIT_DIR": str(scratch)',
        '"GIT_DIR": str(Path(resolver.objects).parent)',
        (f"{TESTS}/fetch/test_git.py::test_nothing_that_a_repository_brings_is_run_or_obeyed",),
    ),
    Mutant(
        "a finding is reconciled with a file whose path ends like its own",
        f"{CONTRACT}/reconcile.py",
        "self._plain.get(without_dot(path))",
        "next((one for one in sorted(self._exact) if one.endswith(path)), None)",
        (f"{TESTS}/test_contract.py::test_a_finding_whose_file_was_not_changed_is_dropped_with_its_place",),
    ),
    Mutant(
        "a finding about a file that was not changed stays",
        f"{CONTRACT}/reconcile.py",
        "            continue\n        if path != finding.file:",
        "            path = finding.file\n        if path != finding.file:",
        (f"{TESTS}/test_contract.py::test_a_finding_whose_file_was_not_changed_is_dropped_with_its_place",),
    ),
    Mutant(
        "a clean review is a warning",
        f"{CONTRACT}/parse.py",
        "if not findings and any(isinstance(found, FindingDropped) for found in diagnostics):",
        "if not findings:",
        (f"{TESTS}/test_contract.py::test_a_clean_review_is_no_warning",),
    ),
    Mutant(
        "true is a line",
        f"{CONTRACT}/findings.py",
        "elif type(value) is not int:",
        "elif not isinstance(value, int):",
        (f"{TESTS}/test_contract.py::test_a_finding_that_breaks_the_contract_is_dropped_alone_with_the_reason",),
    ),
    Mutant(
        "an older minor version is accepted",
        f"{CONTRACT}/versions.py",
        "and found[1] > expected[1]",
        "and found[1] != expected[1]",
        (f"{TESTS}/test_contract.py::test_a_schema_version_is_the_expected_one_or_a_newer_minor_of_it",),
    ),
)
