"""What the tests of redaction ask again and again: was this hidden, and was the rest left alone."""

import base64

from leasehold.redact import Policy, Redacted, Redactor

DEFAULT = Redactor()
# Random once, fixed since: no secret of anybody's, and never whole behind a real prefix in this file.
LETTERS = "Zq8mT3vXc7LkR2wYp9NdH4sBf6JgQ1tEa5UhVxK0"
DIGITS = "4f9a1c7e2b8d3f605a9c1e7b4d2f8a6c"
WORD, SIGNED = "swordfish", "Tr0ub4dor&3x"
ENCODED, LOGIN = base64.b64encode(b"swordfish").decode(), base64.b64encode(b"bob:swordfish").decode()
OTHER = "hunterhunter"  # the second password of the texts that have two


def clean(text: str, **choices: object) -> str:
    """Redact by the default policy, or by one with these choices."""
    return clean_and_counted(text, **choices).text


def clean_and_counted(text: str, **choices: object) -> Redacted:
    redactor = Redactor(Policy(**choices)) if choices else DEFAULT  # type: ignore[arg-type]
    found = redactor.redact(text)
    assert found.text.count("\n") == text.count("\n")
    assert redactor.redact(found.text).text == found.text
    return found


def check_hidden(template: str, secret: str, name: str, number: int = 1) -> None:
    """Assert that the secret in the template, and nothing else of it, becomes a placeholder of this class."""
    text = template.replace("{}", secret)
    assert clean(text) == template.replace("{}", f"[REDACTED:{name}#{number}]"), text


def check_left_alone(text: str) -> None:
    """Assert that nothing is hidden."""
    assert clean(text) == text


def check_gone(template: str, secret: str) -> None:
    """Assert that neither half of the secret in the template is left, nor the other secret that some texts hold."""
    found = clean(template.replace("{}", secret))
    half = max(6, len(secret) // 2)
    assert secret[:half] not in found
    assert secret[-half:] not in found
    assert OTHER not in found
