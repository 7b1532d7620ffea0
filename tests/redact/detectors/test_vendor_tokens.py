"""Keys and tokens with a known prefix, and JSON web tokens."""

from leasehold.redact.detectors.token_formats import ALL
from leasehold.redact.text import VENDOR_CLASSES
from tests.redact.checks import DIGITS, LETTERS, check_hidden, check_left_alone, clean
from tests.support.rows import every_row

UPPER = LETTERS.upper()
TOKENS = [
    ("anthropic_key", "sk-ant-" + "api03-" + LETTERS),
    ("openai_key", "sk-" + LETTERS),
    ("openai_key", "sk-" + "proj-" + LETTERS + "_" + LETTERS),
    ("aws_key", "AKIA" + UPPER[:16]),
    ("aws_key", "ASIA" + UPPER[:16]),
    ("google_key", "AIza" + LETTERS[:35]),
    ("google_key", "ya29." + LETTERS),
    ("google_key", "GOCSPX-" + LETTERS[:28]),
    *(("github_token", f"gh{kind}_" + LETTERS[:36]) for kind in "pousr"),
    ("github_token", "github_pat_" + LETTERS[:22] + "_" + LETTERS),
    ("gitlab_token", "glpat-" + LETTERS[:20]),
    ("gitlab_token", "glrt-" + LETTERS[:20]),
    ("slack_token", "xoxb-" + "123456789012-123456789012-" + LETTERS[:24]),
    ("slack_token", "xoxe.xoxp-" + "1-" + LETTERS),
    ("slack_token", "xapp-" + "1-A0123-" + DIGITS),
    ("stripe_key", "sk_live_" + LETTERS[:24]),
    ("stripe_key", "rk_live_" + LETTERS[:24]),
    ("stripe_key", "sk_test_" + LETTERS[:24]),
    ("stripe_key", "whsec_" + LETTERS),
    ("npm_token", "npm_" + LETTERS[:36]),
    ("pypi_token", "pypi-" + "AgEIcHlwaS5vcmcC" + LETTERS),
    ("sendgrid_key", "SG." + LETTERS[:22] + "." + LETTERS + "abc"),
    ("twilio_key", "SK" + DIGITS),
    ("huggingface_token", "hf_" + LETTERS[:34]),
    ("digitalocean_token", "dop_v1_" + DIGITS * 2),
    ("age_key", "AGE-SECRET-KEY-1" + UPPER),
    ("vault_token", "hvs." + LETTERS),
    ("telegram_token", "123456789:AA" + LETTERS[:33]),
    ("discord_token", "M" + LETTERS[:23] + ".Gabc12." + LETTERS[:38]),
    ("shopify_token", "shpat_" + DIGITS),
    ("databricks_token", "dapi" + DIGITS),
    ("cloudflare_key", "v1.0-" + DIGITS[:24] + "-" + DIGITS * 4),
    ("vendor_token", "lin_api_" + LETTERS),
    ("vendor_token", "glsa_" + LETTERS[:32] + "_12ab34cd"),
    ("vendor_token", "dckr_pat_" + LETTERS[:27]),
    ("vendor_token", DIGITS + "-us12"),
    ("vendor_token", LETTERS[:14] + ".atlasv1." + LETTERS * 2),
    ("azure_key", LETTERS[:3] + "8Q~" + LETTERS[:34]),
]


@every_row(("name", "token"), TOKENS)
@every_row("place", ["{}", "using {} now", "x = '{}'", "https://example.org/?a={}&b=1", r"line\n{}\nline"])
def test_a_token_with_a_known_prefix_is_hidden_wherever_it_stands(name, token, place):
    check_hidden(place, token, name)


@every_row(
    ("template", "secret", "name"),
    [
        ("https://hooks.slack.com/services/{}", "T0123ABCD/B0123ABCD/" + LETTERS[:24], "slack_token"),
        ("https://discord.com/api/webhooks/123456789012345678/{}", LETTERS + LETTERS, "discord_token"),
        ("AccountName=a;AccountKey={};EndpointSuffix=x", LETTERS * 2 + "abcdef==", "azure_key"),
        ("Endpoint=sb://a/;SharedAccessKey={}", LETTERS + "abc=", "azure_key"),
        ("https://a.blob.example/c?sv=1&sig={}&se=2", LETTERS + "%3D", "azure_key"),
    ],
)
def test_a_secret_inside_a_longer_form_leaves_the_form(template, secret, name):
    check_hidden(template, secret, name)


@every_row("token", ["ghp_" + LETTERS[:16], "glpat-" + LETTERS[:16], "xoxb-" + "1234567890", "sk-ant-" + LETTERS[:16]])
def test_a_token_cut_off_in_a_log_is_still_hidden(token):
    assert token[:12] not in clean(f"token {token}...")


@every_row(
    "text",
    [
        "ghp_short",
        "task-management-for-everybody-2024",
        "sk-learn-is-a-library-for-python",
        "the AKIA prefix marks an access key",
        "AKIAnotakeyatall",
        "def npm_install_all_packages_in_this_folder(): ...",
        "SG.Something",
        "hf_hub_download(repo_id=repo)",
        "SK-2024-0001",
        "eyJ is how every JSON web token begins",
        "eyJhbGciOiJIUzI1NiJ9",
        "dapi is not a token",
    ],
)
def test_words_that_only_resemble_a_prefix_are_left_alone(text):
    check_left_alone(text)


@every_row("tail", ["." + LETTERS, "", "." + LETTERS + "." + LETTERS])
def test_a_json_web_token_is_hidden_whole_or_cut_off(tail):
    check_hidden("token {} seen", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0" + tail, "jwt")


def test_two_occurrences_of_one_token_share_a_number_and_another_gets_the_next():
    first, second = "ghp_" + LETTERS[:36], "ghp_" + LETTERS[:36][::-1]
    assert clean(f"{first} {second} {first}") == (
        "[REDACTED:github_token#1] [REDACTED:github_token#2] [REDACTED:github_token#1]"
    )


def test_every_format_belongs_to_a_class_and_can_match_its_own_literal():
    assert {form.name for form in ALL} | {"discord_token"} == set(VENDOR_CLASSES)
    assert all(form.pattern.groups <= 1 for form in ALL)
