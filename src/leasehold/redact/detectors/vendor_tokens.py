"""Keys and tokens that announce themselves by a prefix, written from the formats their issuers publish.

One row a format: the class, a literal that must be present for the pattern to be tried at all, and the pattern, whose
group 1 (or the whole) is hidden. Lengths are minima below the real ones, so that a token cut off in a log still counts.
Every repetition that is followed by something else is bounded: a hostile text costs a constant for each literal in it.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from leasehold.redact.text import Page, Runs, Span, places

# A token starts after a character that cannot belong to it, or after an escape: `\n`, `%3D`, a terminal colour.
ESCAPES: Final = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\x1b\[[0-9]m)|(?<=\x1b\[[0-9]{2}m)"
EDGE: Final = rf"(?:(?<![A-Za-z0-9_-])|{ESCAPES})"
LOOSE: Final = rf"(?:(?<![A-Za-z0-9])|{ESCAPES})"


class Format(NamedTuple):
    name: str
    literal: str
    pattern: re.Pattern[str]
    inner: bool  # the literal stands inside, not at the start


def _format(name: str, literal: str, pattern: str, *, inner: bool = False) -> Format:
    return Format(name, literal, re.compile(pattern), inner)


def _plain(name: str, literal: str, rest: str, *, before: str = "") -> Format:
    """Return a format that is a literal and what follows it, found wherever it stands."""
    return _format(name, literal, before + re.escape(literal) + rest)


_inner = partial(_format, inner=True)
_edged = partial(_plain, before=EDGE)  # the literal also occurs inside ordinary words
FORMATS: Final = (
    _plain("anthropic_key", "sk-ant-", r"[A-Za-z0-9_-]{16,}"),
    _edged("openai_key", "sk-", r"(?=[A-Za-z_-]{0,60}[0-9])(?=[a-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,}"),
    *(_format("aws_key", start, LOOSE + start + r"[A-Z0-9]{16}(?![A-Za-z0-9])") for start in ("AKIA", "ASIA", "ABIA")),
    *(_plain("azure_key", f"{key}=", r"([A-Za-z0-9+/]{40,}={0,2})") for key in ("AccountKey", "SharedAccessKey")),
    _format("azure_key", "sig=", r"(?<=[?&])sig=([A-Za-z0-9%+/]{40,}={0,2})"),
    _inner("azure_key", "8Q~", EDGE + r"[A-Za-z0-9_.~-]{3}8Q~[A-Za-z0-9_.~-]{30,}"),
    _plain("google_key", "AIza", r"[A-Za-z0-9_-]{30,}"),
    _edged("google_key", "ya29.", r"[A-Za-z0-9_-]{20,}"),
    _plain("google_key", "GOCSPX-", r"[A-Za-z0-9_-]{20,}"),
    *(_plain("github_token", f"gh{kind}_", r"[A-Za-z0-9]{16,}") for kind in "pousr"),
    _plain("github_token", "github_pat_", r"[A-Za-z0-9_]{16,}"),
    *(_plain("gitlab_token", f"gl{kind}-", r"[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]{2,16})*") for kind in (
        "pat", "dt", "rt", "cbt", "ptt", "ft", "imt", "agent", "soat", "oas")),
    _format("slack_token", "xox", r"xox[a-z](?:-|\.xox[a-z]-)[A-Za-z0-9-]{10,}"),
    _plain("slack_token", "xapp-", r"[0-9]-[A-Za-z0-9-]{10,}"),
    _plain("slack_token", "hooks.slack.com/services/", r"([A-Za-z0-9_/]{20,})"),
    *(_plain("stripe_key", mode, r"[A-Za-z0-9]{10,}") for mode in ("sk_live_", "rk_live_", "sk_test_", "rk_test_")),
    _plain("stripe_key", "whsec_", r"[A-Za-z0-9+/]{24,}={0,2}"),
    _edged("npm_token", "npm_", r"[A-Za-z0-9]{30,}"),
    _plain("pypi_token", "pypi-AgE", r"[A-Za-z0-9_-]{16,}"),
    _edged("sendgrid_key", "SG.", r"[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)?"),
    _edged("twilio_key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _edged("huggingface_token", "hf_", r"[A-Za-z0-9]{30,}"),
    *(_plain("digitalocean_token", f"do{kind}_v1_", r"[a-f0-9]{24,}") for kind in "opr"),
    _plain("age_key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{16,}"),
    *(_edged("vault_token", f"hv{kind}.", r"[A-Za-z0-9_-]{20,}") for kind in "sbr"),
    _inner("telegram_token", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"),
    _format("discord_token", "/api/webhooks/", r"/api/webhooks/[0-9]{10,24}/([A-Za-z0-9_-]{30,})"),
    *(_plain("shopify_token", f"shp{kind}_", r"[A-Fa-f0-9]{24,}") for kind in ("at", "ca", "pa", "ss")),
    _edged("databricks_token", "dapi", r"[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    _edged("cloudflare_key", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{60,}"),
    _plain("vendor_token", "lin_api_", r"[A-Za-z0-9]{30,}"),  # Linear
    # Notion, Groq, xAI, Perplexity
    *(_edged("vendor_token", start, r"[A-Za-z0-9]{40,}") for start in ("ntn_", "gsk_", "xai-", "pplx-")),
    _edged("vendor_token", "secret_", r"[A-Za-z0-9]{43}(?![A-Za-z0-9_])"),  # Notion, the older form
    _format("vendor_token", "dp.", EDGE + r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}"),  # Doppler
    _plain("vendor_token", "glsa_", r"[A-Za-z0-9]{24,}(?:_[A-Fa-f0-9]{1,8})?"),  # Grafana
    _edged("vendor_token", "glc_", r"[A-Za-z0-9+/]{30,}={0,2}"),  # Grafana Cloud
    _plain("vendor_token", "NRAK-", r"[A-Z0-9]{20,}"),  # New Relic
    _edged("vendor_token", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),  # Mailgun
    *(_inner("vendor_token", f"-us{digit}", LOOSE + r"[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])") for digit in "12"),
    _plain("vendor_token", "PMAK-", r"[A-Za-z0-9-]{30,}"),  # Postman
    _edged("vendor_token", "pul-", r"[a-f0-9]{40}(?![A-Za-z0-9])"),  # Pulumi
    _plain("vendor_token", "rubygems_", r"[a-f0-9]{30,}"),
    *(_plain("vendor_token", f"pscale_{kind}_", r"[A-Za-z0-9_.=-]{24,}") for kind in ("tkn", "pw", "oauth")),
    *(_plain("vendor_token", f"sq0{kind}-", r"[A-Za-z0-9_-]{20,}") for kind in ("atp", "csp", "idp")),  # Square
    _plain("vendor_token", "ATATT3", r"[A-Za-z0-9_=-]{40,}"),  # Atlassian
    _edged("vendor_token", "ATBB", r"[A-Za-z0-9]{28,}"),  # Bitbucket
    *(_plain("vendor_token", f"sntry{kind}_", r"[A-Za-z0-9+/=_-]{30,}") for kind in "su"),  # Sentry
    _inner("vendor_token", ".atlasv1.", EDGE + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{30,}"),  # Terraform
    _plain("vendor_token", "dckr_pat_", r"[A-Za-z0-9_-]{20,}"),  # Docker
    _edged("vendor_token", "sbp_", r"[a-f0-9]{40}"),  # Supabase
    _plain("vendor_token", "figd_", r"[A-Za-z0-9_-]{30,}"),  # Figma
    _edged("vendor_token", "r8_", r"[A-Za-z0-9]{30,}"),  # Replicate
    _plain("vendor_token", "lsv2_", r"(?:pt|sk)_[A-Fa-f0-9]{32}_[A-Fa-f0-9]{8,}"),  # LangSmith
    _plain("vendor_token", "xkeysib-", r"[a-f0-9]{40,}(?:-[A-Za-z0-9]+)?"),  # Brevo
    _plain("vendor_token", "ops_eyJ", r"[A-Za-z0-9+/=_-]{40,}"),  # 1Password
    *(_plain("vendor_token", f"office.com/webhook{kind}/", r"([A-Za-z0-9@/-]{30,})") for kind in ("", "b2")),  # Teams
    _plain("vendor_token", "hooks.zapier.com/hooks/catch/", r"([0-9]{4,}/[a-z0-9]{5,})"),
    _plain("vendor_token", "pagerduty.com/integration/", r"([a-f0-9]{32})"),
    _plain("vendor_token", "fm2_", r"[A-Za-z0-9+/=]{60,}"),  # Fly.io
)  # fmt: skip

# Every token above has a run of this length, with its literal in it or shortly before it. One of hexadecimal digits
# alone is a digest or a UUID, if it is not longer than one.
HEX: Final = re.compile(r"[0-9a-f-]{15,130}+")
RUNS: Final = Runs(15, b"+/%~")
REACH: Final = 32

# A header alone is no secret; what follows its dot is.
JWT: Final = re.compile(EDGE + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}")


def find_vendor_tokens(page: Page) -> Iterator[Span]:
    likely = _likely(page.text)
    for form in FORMATS:
        if form.literal in likely:
            yield from (Span(*found.span(form.pattern.groups), form.name) for found in _matches(form, page.text))


def _likely(text: str) -> str:
    """Return the few parts of a text in which a token can be, so that not all of it is searched for each literal."""
    runs = ((start, end) for start, end in RUNS.find(text) if not HEX.fullmatch(text, start, end))
    return "\n".join(text[max(0, start - REACH) : end] for start, end in runs)


def _matches(form: Format, text: str) -> Iterator[re.Match[str]]:
    """Yield the matches; where the pattern starts with its literal, looking for that is the faster way."""
    if form.inner:
        yield from form.pattern.finditer(text)
        return
    done = 0
    for place in places(text, form.literal):
        if place >= done and (found := form.pattern.match(text, place)):
            done = found.end()
            yield found


def find_jwts(page: Page) -> Iterator[Span]:
    """Yield JSON web tokens, whole or cut off after the payload has begun."""
    if "eyJ" in page.text:
        yield from (Span(*found.span(), "jwt") for found in JWT.finditer(page.text))
