"""What is to be hidden beyond what always is: frozen, and silent about its own secrets when printed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from leasehold.errors import Broken, Misuse
from leasehold.redact.text import is_part_of_a_placeholder

VALUE_LENGTH_MIN: Final = 6
HOST_LENGTH_MIN: Final = 3


class RedactionFailed(Broken, code="REDACTION_FAILED"):
    """The text could not be cleaned; do not store, log or send it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Keys, tokens, passwords and private keys are always hidden; these choose the rest.

    `hosts` are names (`vault.corp.example`) or suffixes (`.corp.example`) that are confidential, `addresses` hides
    private IP addresses, `secrets` are exact values, also found in base64, hexadecimal and percent-encoded form.
    """

    emails: bool = False
    hosts: Sequence[str] = ()
    addresses: bool = False
    secrets: Sequence[str] = field(default=(), repr=False)
    entropy: bool = True

    def __post_init__(self) -> None:
        """Keep copies that cannot change, and refuse values that would hide everything."""
        if isinstance(self.hosts, str) or isinstance(self.secrets, str):
            raise Misuse("Pass a list of texts, not one text.")
        object.__setattr__(self, "hosts", tuple(map(_host, self.hosts)))
        object.__setattr__(self, "secrets", tuple(dict.fromkeys(map(_secret, self.secrets))))


def _host(name: object) -> str:
    if not isinstance(name, str) or len(name.strip(".")) < HOST_LENGTH_MIN:
        raise Misuse(f"A confidential host or suffix is text of at least {HOST_LENGTH_MIN} characters.")
    return name.lower()


def _secret(value: object) -> str:
    """Return the value; its text is not repeated in the refusal."""
    if not isinstance(value, str):
        raise Misuse("A secret value is text.")
    if len(value) < VALUE_LENGTH_MIN:
        raise Misuse(f"A secret value has at least {VALUE_LENGTH_MIN} characters; a shorter one would hide everything.")
    if is_part_of_a_placeholder(value):
        raise Misuse("A secret value must not be a word that placeholders are made of.")
    return value
