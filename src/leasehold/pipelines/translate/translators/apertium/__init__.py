"""Apertium: translation by rules, from Debian packages, offline. Real output with real mistakes, in milliseconds."""

from leasehold.pipelines.translate.translators.apertium.engine import Apertium

__all__ = ["Apertium"]
