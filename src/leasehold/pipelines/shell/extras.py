"""A package of an extra that is missing, in words that a person can act on."""

from leasehold.errors import ExtraMissing


def explain_missing(error: ModuleNotFoundError, extra: str) -> Exception:
    """Return what to raise instead: the extra to install, or the error itself if a module of ours is missing."""
    if (error.name or "").startswith("leasehold"):
        return error
    return ExtraMissing(f"It is {error.name}; run: pip install 'leasehold[{extra}]'.")
