"""Providers as one line of configuration.

    folder:///var/spool/letters   folder:relative/path
    smtp+starttls://user@host:587/?from=a@example.org&password_env=MAIL_PASSWORD      smtps://…      smtp://localhost:2525/?…
    https://hooks.example.org/x?leasehold_lookup=https%3A%2F%2Fhooks.example.org%2Fx%2F%7Btoken%7D&leasehold_secret_env=KEY

Mail: `from`, `name`, `password_env`, `hello`, `id_domain`, `timeout`, `insecure=1`. Webhook, each with the prefix
`leasehold_` so that the receiver's own parameters stay as they are: `lookup`, `idempotent=1`, `header`, `secret_env`,
`authorization_env`, `timeout`, `private=1`. What ends in `_env` names a variable of the environment.
"""

import os
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, unquote_plus, urlsplit

from leasehold.errors import OptionInvalid
from leasehold.model.delivery import Provider
from leasehold.providers.folder import Folder
from leasehold.providers.smtp import Smtp, Tls
from leasehold.providers.webhook import Webhook

PREFIX: Final = "leasehold_"
_TLS: Final[dict[str, Tls]] = {"smtp+starttls": "starttls", "smtps": "tls", "smtp": "none"}


def from_url(url: str) -> Provider:
    """Return the provider that a URL describes; `OptionInvalid` never quotes it, for it may hold a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise OptionInvalid("A provider's URL cannot be read.") from None
    if parts.scheme == "folder":
        return _folder(parts)
    if parts.scheme in _TLS:
        return _smtp(parts)
    if parts.scheme in {"http", "https"}:
        return _webhook(url)
    raise OptionInvalid("A provider's URL begins with folder:, smtp+starttls:, smtps:, smtp:, https: or http:.")


def _folder(parts: SplitResult) -> Folder:
    if parts.netloc or parts.query or parts.fragment or not parts.path.strip("/"):
        raise OptionInvalid("A folder is named folder:///absolute/path or folder:relative/path.")
    return Folder(unquote(parts.path))


def _smtp(parts: SplitResult) -> Smtp:
    if parts.fragment or parts.path not in {"", "/"}:
        raise OptionInvalid("A mail server's URL has no path and no fragment.")
    known = _converted(parse_qsl(parts.query, keep_blank_values=True), _MAIL_OPTIONS)
    if "sender" not in known:
        raise OptionInvalid("A mail server's URL needs the option from.")
    try:
        port = parts.port or 0
    except ValueError:
        raise OptionInvalid("A mail server's port is a number.") from None
    # Of several @ the last one ends the credentials; none of them is quoted in an error.
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    known.setdefault("password", unquote(password) if password else None)
    return Smtp(host=parts.hostname or "", port=port, tls=_TLS[parts.scheme], user=unquote(user) or None, **known)


def _webhook(url: str) -> Webhook:
    bare, _, query = url.partition("?")
    pieces = query.split("&") if query else []
    ours = [piece.partition("=") for piece in pieces if piece.startswith(PREFIX)]
    theirs = "&".join(piece for piece in pieces if not piece.startswith(PREFIX))
    options = [(name.removeprefix(PREFIX), unquote_plus(value)) for name, _, value in ours]
    return Webhook(f"{bare}?{theirs}" if theirs else bare, **_converted(options, _WEBHOOK_OPTIONS))


def _converted(pairs: list[tuple[str, str]], known: dict[str, tuple[str, Callable[[str], Any]]]) -> dict[str, Any]:
    options = dict(pairs)
    if len(options) != len(pairs):
        raise OptionInvalid("A provider's URL gives an option twice.")
    if unknown := options.keys() - known.keys():
        raise OptionInvalid(f"A provider's URL has no option {min(unknown)[:40]!r}; it has {', '.join(sorted(known))}.")
    return {known[name][0]: known[name][1](value) for name, value in options.items()}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionInvalid("A provider's time-out is a number of seconds.") from None


def _switch(text: str) -> bool:
    if text not in {"0", "1"}:
        raise OptionInvalid("A provider's switch is 0 or 1.")
    return text == "1"


def _variable(name: str) -> str:
    if value := os.environ.get(name, ""):
        return value
    raise OptionInvalid(f"The environment has no variable {name[:80]!r}, or it is empty.")


_MAIL_OPTIONS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "from": ("sender", str),
    "hello": ("hello", str),
    "id_domain": ("id_domain", str),
    "insecure": ("insecure", _switch),
    "name": ("sender_name", str),
    "password_env": ("password", _variable),
    "timeout": ("timeout", _number),
}
_WEBHOOK_OPTIONS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "authorization_env": ("headers", lambda name: {"Authorization": _variable(name)}),
    "header": ("header", str),
    "idempotent": ("idempotent", _switch),
    "lookup": ("lookup_url", str),
    "private": ("allow_private", _switch),
    "secret_env": ("secret", _variable),
    "timeout": ("timeout", _number),
}
