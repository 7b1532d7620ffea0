"""Apertium is a Debian package: where it is missing, the tests that need it are left out, and long runs say so."""

import shutil

import pytest

from leasehold.pipelines.translate.translators.apertium.modes import installed_modes

HOW = "These tests need Apertium. On Debian: apt install apertium apertium-eng-spa"


def _is_there() -> bool:
    return shutil.which("lt-proc") is not None and {"eng-spa", "spa-eng"} <= {mode.name for mode in installed_modes()}


APERTIUM = [pytest.param("apertium", id="apertium")] if _is_there() else []
