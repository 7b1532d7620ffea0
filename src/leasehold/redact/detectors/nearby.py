"""Keys and tokens that look drawn by lot and stand next to a word for one, without a sign that assigns them.

Most are `auth token 0123...` in a log, or `heroku: 0123...` where the name of an issuer is all that announces it.
"""

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.classify.drawn import is_drawn
from leasehold.redact.page import Page
from leasehold.redact.text import Span

LENGTH_MIN: Final = 16
LENGTH_MAX: Final = 256
REACH: Final = 56
ISSUERS: Final = (
    "adafruit|adobe|airtable|algolia|alibaba|anthropic|artifactory|asana|atlassian|auth0|aws|azure|beamer|bitbucket|bitly"
    "|bittrex|box|braintree|cerebras|circleci|clojars|cloudflare|codecov|coinbase|contentful|databricks|datadog|deepgram"
    "|digitalocean|discord|docker|dropbox|dynatrace|elevenlabs|etsy|facebook|fastly|figma|flickr|freshbooks|github|gitlab"
    "|gitter|heroku|hubspot|intercom|jenkins|jfrog|kraken|kucoin|linear|linkedin|lob|mailchimp|mailgun|mapbox|mattermost"
    "|messagebird|neon|netlify|new[_-]?relic|npm|nuget|nytimes|okta|openai|openweather|pagerduty|paypal|plaid|postman|pulumi"
    "|pusher|rapidapi|readme|sendbird|sendgrid|sentry|shodan|shopify|slack|snyk|sonar|splunk|spotify|square|squarespace"
    "|stripe|sumologic|supabase|telegram|terraform|travis|trello|twilio|twitch|twitter|vault|vercel|weather|yandex|zendesk"
)
VERB: Final = r"(?:[ \t]{1,2}(?:is|are|was|value|-|of|=>))?"
SIGNS: Final = r"[ \t]{0,3}[=:>(,|-]{0,2}[ \t]{0,3}[\"'`(\[]?"
NAMED: Final = re.compile(
    rf"(?:(?:api|access|auth|authentication|secret|app|application|client|private|bearer|session|security)[ _-]?)"
    rf"(?:secret[ _-]?|access[ _-]?)?(?:tokens?|keys?|secret|credentials?)\b{VERB}{SIGNS}\Z"
    rf"|\b(?:tokens?|secret|using key|apikey|bearer){VERB}{SIGNS}\Z"
    rf"|\b(?:{ISSUERS})(?:[ _.-]{{1,2}}(?:\w{{1,12}}[ _.-]?){{0,3}}?(?:token|key|secret|app|password|api|id))?\b"
    rf"{VERB}[ \t]{{0,2}}"
    rf"(?:[=:>(|-]{{1,2}}[ \t]{{0,2}}[\"'`]?|[ \t][\"'`])\Z"
    rf"|\b(?:{ISSUERS})[ _.-]{{1,2}}(?:\w{{1,12}}[ _.-]?){{0,3}}?(?:token|key|secret|app|password|api)\b"
    rf"{VERB}[ \t]{{1,2}}[\"'`]?\Z"
)
# What is known to be public, or a digest of something.
PUBLIC: Final = re.compile(
    r"public|::|sha[0-9-]|md5|commit|finger|hash|digest|checksum|integrity|thumb|revision|[?&]v=|\bid\b"
)
IDENTITY: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}|[0-9A-F]{40}|[0-9A-F]{64}")


ANNOUNCING: Final = frozenset(re.findall(r"[a-z]{3,}", ISSUERS)) | {
    *(
        "token",
        "tokens",
        "key",
        "keys",
        "secret",
        "secrets",
        "bearer",
        "credential",
        "credentials",
        "apikey",
        "apikeys",
    ),
    *("accesskey", "secretkey", "privatekey", "authtoken", "apitoken", "accesstoken", "clientsecret", "appsecret"),
}
ANNOUNCING_OCTETS: Final = frozenset(word.encode() for word in ANNOUNCING)


def find_near_names(page: Page) -> Iterator[Span]:
    """Yield what looks drawn by lot and has such a word before it."""
    for start, end, _ in page.tokens:
        if ANNOUNCING_OCTETS.isdisjoint(page.letters[max(0, start - REACH) : start].split()[-5:]):
            continue
        before = page.shadow[max(0, start - REACH) : start]
        is_judged = LENGTH_MIN <= end - start <= LENGTH_MAX
        if is_judged and NAMED.search(before) and is_drawn(page.text[start:end]) and not PUBLIC.search(before):
            yield Span(start, end, "token")
