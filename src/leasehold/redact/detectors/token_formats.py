"""The forms of tokens with a prefix, written from what their issuers publish.

One row a format: the class, a literal that must be present for the pattern to be tried at all, and the pattern, whose
group 1 (or the whole) is hidden. Lengths are minima below the real ones, so that a token cut off in a log still counts.
Every repetition that is followed by something else is bounded: a hostile text costs a constant for each literal in it.
"""

import re
from functools import partial
from typing import Final, NamedTuple

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


LOWER_LATER: Final = r"[A-Z0-9_-]{0,40}[a-z]"
STRETCH: Final = re.compile(r"[A-Za-z0-9_-]{2,}")
UUID: Final = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{8,12}"


def _begins_a_stretch(form: Format) -> bool:
    return not form.inner and form.pattern.pattern.startswith(EDGE) and STRETCH.fullmatch(form.literal) is not None


_inner = partial(_format, inner=True)
_edged = partial(_plain, before=EDGE)  # the literal also occurs inside ordinary words
ALL: Final = (
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
    # Its letters are drawn by lot: many change their case, and some capitals stand together.
    _edged("huggingface_token", "hf_",
           r"(?:(?=(?:[A-Za-z]{0,20}+[0-9]){3})|(?=(?:[a-z]{0,20}+[A-Z]{1,20}+){6})(?=[A-Za-z]{0,40}?[A-Z]{2}))"
           r"[A-Za-z0-9]{30,}"),
    _edged("huggingface_token", "api_org_", r"[A-Za-z0-9]{30,}"),
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
    # Hexadecimal or a UUID behind a prefix.
    *(_edged(name, start, rest + r"(?![A-Za-z0-9])") for name, starts, rest in (
        ("openai_key", "sk-", rf"(?:[a-z0-9]{{1,8}}-){{0,3}}(?:[0-9a-f]{{32,64}}|{UUID})"),
        ("vendor_token", "pk-lf- linkup- sdk- mob- api- amzn.mws. access-sandbox- access-production-", UUID),
        ("vendor_token", "pat-na1- pat-na2- pat-eu1- pat-ap1- HRKU-", UUID),  # HubSpot, Heroku
        ("vendor_token", "squ_ sqp_ sqa_ bkua_ bkaj_ e2b_ bitbucket_ dsn_ sgp_ prnk_", "[0-9a-f]{32,64}"),
        ("vendor_token", "slk_ rootly_ sntryu_ s-s4t2ud- s-s4t2af- lin_oauth_ glptt- gloas- sntryu_",
         "[0-9a-f]{40,64}"),
        ("vendor_token", "CLOJARS_ rdme_ napi_ csk- p8e- pnu_ pnb_ oy2", "[0-9a-z]{32,80}"),
        ("vendor_token", "shippo_live_ shippo_test_ FLWSECK- fc-", "[0-9a-f]{32,40}(?:-X)?"),
        ("vendor_token", "live_ test_ live_pub_ test_pub_", "[0-9a-f]{35}"),  # Lob
        ("vendor_token", "FLWSECK_TEST-", "[0-9a-h]{12}"),
        ("vendor_token", "NRJS-", "[0-9a-f]{19}"),
        ("vendor_token", "NRRA-", "[0-9a-f]{42}"),
        ("vendor_token", "PMAT- API-", "[A-Z0-9]{26}"),  # Postman, Octopus
        ("vendor_token", "zpka_", "[0-9a-f]{32}_[0-9a-f]{8}"),
        ("vendor_token", "sk_", "[0-9a-f]{40,64}"),
    ) for start in starts.split()),
    # Letters and digits behind a prefix.
    *(_edged(name, start, rest) for name, starts, rest in (
        ("vendor_token", "HRKU-AA CFPAT- duffel_live_ duffel_test_ fio-u- tk-us- NRII- NRIQ- sb_secret_",
         r"[A-Za-z0-9_=-]{24,}"),
        ("vendor_token", "nvapi- pcsk_ fo1_ dckr_oat_ hvp. sha256~ sl. sl.u.", r"[A-Za-z0-9_=-]{24,}"),
        ("vendor_token", "AKCp nfp_ odt_ polar_oat_ whsk_ ak_live_ rpa_ EZAK EZTK endr+", r"[A-Za-z0-9]{16,}"),
        ("vendor_token", "EAACEdEose0cBA EAAM EAAC EAAA", r"[A-Za-z0-9_-]{30,}"),  # Facebook, Square
        ("vendor_token", "LTAI", r"(?=[A-Za-z]{0,20}[0-9])[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),  # Alibaba
        ("vendor_token", "cio ico- tvly- BBFF- jina_ sm_aat_ sm_pat_ sm_sat_ rzp_live_ rzp_test_ npg_ tr_dev_ tr_prod_",
         r"(?=[A-Za-z_-]{0,30}[0-9])[A-Za-z0-9_-]{12,}(?![A-Za-z0-9])"),
        ("vendor_token", "tr_stg_ flb_live_ phc_ phx_ GR1348941 glffct- EAAB",
         r"(?=[A-Za-z_-]{0,30}[0-9])[A-Za-z0-9_-]{12,}(?![A-Za-z0-9])"),
        ("vendor_token", "AQVN YC b_",
         rf"(?=[A-Za-z_-]{{0,40}}[0-9])(?={LOWER_LATER})(?=[a-z0-9_-]{{0,40}}[A-Z])[A-Za-z0-9_-]{{35,50}}(?![A-Za-z0-9])"),
        ("vendor_token", "xsmtpsib-", r"[a-f0-9]{40,}(?:-[A-Za-z0-9]+)?"),  # Brevo
        ("vendor_token", "re_", r"(?=[A-Za-z]{0,10}[0-9_])[A-Za-z0-9]{8,}_[A-Za-z0-9]{16,}"),  # Resend
        ("vendor_token", "tskey-", r"[a-z]{2,10}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{8,}"),  # Tailscale
        ("vendor_token", "tfp_", r"[A-Za-z0-9_.=-]{30,}"),  # Typeform
        ("vendor_token", "vercel_blob_rw_ CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{16,}_[A-Za-z0-9]{24,}"),
        ("vendor_token", "A3-",  # 1Password
         r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){2,3}"),
        ("vendor_token", "SWMTKN-1- SWMKEY-1-", r"[A-Za-z0-9+/=-]{24,}"),  # Docker swarm
        ("vendor_token", "access_token$production$ access_token$sandbox$",  # Braintree
         r"[0-9a-z]{16}\$[0-9a-f]{24,32}"),
        ("vendor_token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{32,64}"),  # Airtable
        ("vendor_token", "dt0c01. dt0s01.", r"[A-Z0-9]{24}\.[A-Z0-9]{32,64}"),  # Dynatrace
        ("vendor_token", "pk. sk. tk.", r"[A-Za-z0-9_-]{60,90}\.[A-Za-z0-9_-]{20,24}"),  # Mapbox
        ("vendor_token", "sc_ ext_ scauth_ authress_",  # Authress
         r"[a-z0-9]{5,30}\.[A-Za-z0-9_-]{4,6}\.?[A-Za-z0-9_.-]{20,}"),
        ("vendor_token", "1//0", r"[A-Za-z0-9_-]{30,}"),  # Google, to refresh
        ("aws_key", "ABSK", r"[A-Za-z0-9+/]{80,}={0,2}"),
        ("stripe_key", "sk_prod_ rk_prod_", r"[A-Za-z0-9]{10,}"),
    ) for start in starts.split()),
    *(_edged("vendor_token", f"{digit}/", r"[0-9]{11,18}(?:/[0-9]{11,18})?:[0-9a-f]{32}(?![0-9a-f])")
      for digit in "012"),  # Asana
    _inner("vendor_token", "msh", EDGE + r"[a-z0-9]{10}msh[a-z0-9]{15}p1[a-z0-9]{6}jsn[a-z0-9]{12}"),  # RapidAPI
    _inner("vendor_token", "_mmk", EDGE + r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![A-Za-z0-9])"),  # MaxMind
    _format("azure_key", "Signature=", r"(?<=[?&])Signature=([A-Za-z0-9~_%+/-]{60,})"),  # CloudFront
)  # fmt: skip
# What can only begin where a stretch of letters and digits does is looked up by its start; all else is searched for.
START: Final = 2
FORMATS: Final = tuple(form for form in ALL if not _begins_a_stretch(form))
BY_START: Final[dict[str, list[Format]]] = {}
for _form in filter(_begins_a_stretch, ALL):
    BY_START.setdefault(_form.literal[:START], []).append(_form)
