"""Values as issuers draw them, and the published forms of tokens with a prefix; every value is made up here."""

from __future__ import annotations

import base64
import random
import re
import uuid
from typing import Final

LOWER: Final = "abcdefghijklmnopqrstuvwxyz"
UPPER: Final = LOWER.upper()
DIGITS: Final = "0123456789"
ALPHABETS: Final = {
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "a": LOWER + DIGITS,
    "A": UPPER + DIGITS,
    "x": LOWER + UPPER + DIGITS,
    "L": LOWER + UPPER,
    "w": LOWER + UPPER + DIGITS + "_-",
    "b": LOWER + UPPER + DIGITS + "+/",
    "d": DIGITS,
}
PART: Final = re.compile(r"<([hHaAxLwbd])(\d+)>|<(uuid)>")
WORDS: Final = (
    "catfishes", "letmein", "sunflower", "trustno1", "monkey", "hunterhunter", "dragonfly", "qwertyuiop", "opensesame",
)  # fmt: skip
SEEDS: Final = (
    "abandon", "ability", "canyon", "dolphin", "eager", "fabric", "galaxy", "hazard", "icon", "jungle", "kitten",
    "ladder", "magnet", "narrow", "oblige", "parade", "quantum", "rabbit", "salmon", "tackle", "umbrella", "velvet",
)  # fmt: skip
SIGNS: Final = "!@#%^*-_.+"

# Forms of tokens with a prefix: a letter and a number stand for so many characters of an alphabet.
TOKENS: Final = (
    "sk-<h32>", "sk-<h48>", "sk-<uuid>", "sk-or-v1-<h64>", "sk-lf-<uuid>", "sk-<x20>T3BlbkFJ<x20>", "sk-proj-<w74>",
    "sk-svcacct-<w74>", "sk-ant-api03-<w93>AA", "sk-ant-admin01-<w93>AA", "squ_<h40>", "sqp_<h40>", "sqa_<h40>",
    "bkua_<h40>", "CLOJARS_<h60>", "pat-na1-<uuid>", "pat-eu1-<uuid>", "HRKU-<uuid>", "HRKU-AA<w58>",
    "amzn.mws.<uuid>", "pat<x14>.<h64>", "key-<h32>", "<h32>-<h8>-<h8>", "rdme_<a70>", "napi_<a64>", "npg_<x12>",
    "csk-<a48>", "PMAK-<h24>-<h34>", "PMAT-<A26>", "A3-<A6>-<A11>-<A5>-<A5>-<A5>", "A3-<A6>-<A6>-<A5>-<A5>-<A5>-<A5>",
    "ops_eyJ<x300>", "access_token$production$<a16>$<h32>", "access_token$sandbox$<a16>$<h32>",
    "SWMTKN-1-<a50>-<a25>", "SWMKEY-1-<b43>", "1/<d16>:<h32>", "2/<d16>/<d16>:<h32>", "p8e-<a32>", "LTAI<x20>",
    "AKCp<x69>", "AKIA<A16>", "ASIA<A16>", "ABSK<b109>=", "b_<x44>", "CFPAT-<w43>", "cio<x32>", "dop_v1_<h64>",
    "doo_v1_<h64>", "dapi<h32>", "odt_<x32>", "sl.<w140>", "sl.u.<w140>", "duffel_live_<w43>", "duffel_test_<w43>",
    "dt0c01.<A24>.<A64>", "EZAK<x54>", "EZTK<x54>", "EAACEdEose0cBA<x80>", "EAAM<x120>", "FLWSECK-<h32>-X",
    "FLWSECK_TEST-<h12>", "fm2_<b500>", "fo1_<w43>", "fio-u-<w64>", "1//0<w60>", "AIza<w35>", "ya29.<w120>",
    "GOCSPX-<w28>", "ghp_<x36>", "gho_<x36>", "ghs_<x36>", "ghr_<x76>", "github_pat_<x22>_<x59>", "glpat-<w20>",
    "GR1348941<w20>", "glptt-<h40>", "gldt-<w20>", "glffct-<w20>", "gloas-<h64>", "glsoat-<w20>", "glcbt-<x2>_<w20>",
    "glc_<b90>", "glsa_<x32>_<h8>", "hvs.<w90>", "hvb.<w140>", "hvr.<w24>", "ico-<x32>", "s-s4t2ud-<h64>",
    "sdk-<uuid>", "mob-<uuid>", "api-<uuid>", "pk-lf-<uuid>", "lin_api_<x40>", "lin_oauth_<h64>", "live_<h35>",
    "test_<h35>", "pk.<a60>.<a22>", "sk.eyJ<x80>.<x22>", "<x6>_<x29>_mmk", "<h32>-us12", "nfp_<x36>", "NRAK-<A27>",
    "NRJS-<h19>", "NRII-<w32>", "NRIQ-<w32>", "NRRA-<h42>", "ntn_<d11><x35>", "secret_<x43>", "npm_<x36>", "oy2<a43>",
    "API-<A26>", "sha256~<w43>", "pplx-<x48>", "access-sandbox-<uuid>", "access-production-<uuid>", "pscale_tkn_<w43>",
    "pscale_pw_<w43>", "pscale_oauth_<w43>", "pnu_<a36>", "pul-<h40>", "pypi-AgEIcHlwaS5vcmc<w70>",
    "<a10>msh<a15>p1<a6>jsn<a12>", "rzp_live_<x14>", "rubygems_<h48>", "tk-us-<w48>", "sgp_<x64>", "sgp_<h40>",
    "xkeysib-<h64>-<x16>", "xsmtpsib-<h64>-<x16>", "sntrys_eyJ<b120>", "sntryu_<h64>", "sm_aat_<x16>",
    "shippo_live_<h40>", "shippo_test_<h40>", "xoxb-<d12>-<d12>-<x24>", "xoxp-<d12>-<d12>-<d12>-<h32>",
    "xapp-1-A<A10>-<d13>-<h64>", "slk_<h64>", "EAAA<w60>", "sq0atp-<w22>", "sq0csp-<w43>", "sk_live_<x24>",
    "rk_live_<x99>", "sk_test_<x24>", "sk_prod_<x24>", "whsec_<b32>", "tskey-auth-<x12>-<x20>",
    "tskey-api-<x12>-<x20>", "tvly-<x32>", "tvly-dev-<x32>", "<d10>:AA<w33>", "tfp_<x44>_<x14>", "SK<h32>",
    "BBFF-<x30>", "SG.<w22>.<w43>", "AQVN<w36>", "YC<w38>", "zpka_<h32>_<h8>", "fc-<h32>", "e2b_<h40>",
    "nvapi-<w64>", "lsv2_pt_<h32>_<h10>", "lsv2_sk_<h32>_<h10>", "pcsk_<w64>", "sbp_<h40>", "sb_secret_<w31>",
    "re_<x8>_<x24>", "phc_<x43>", "phx_<x43>", "CCIPAT_<x22>_<h40>", "CCIPRJ_<x22>_<h40>", "hf_<L34>",
    "api_org_<L34>", "r8_<x37>", "gsk_<x52>", "xai-<x80>", "figd_<w40>", "dp.pt.<x43>", "dp.st.prd.<x43>",
    "shpat_<h32>", "shpss_<h32>", "dckr_pat_<w27>", "dckr_oat_<w32>", "ATATT3xFfGF0<w170>=<H8>", "ATBB<x32>",
    "ATCTT3xFfGN0<w170>=<H8>", "<x14>.atlasv1.<w65>", "hvp.<w24>", "AGE-SECRET-KEY-1<A58>", "v1.0-<h24>-<h146>",
    "<x3>8Q~<x34>", "eyJrIjoi<x80>", "rootly_<h64>", "polar_oat_<x39>", "flb_live_<x20>", "endr+<x16>", "sc_<x5>.<x30>",
    "bitbucket_<h40>", "linkup-<uuid>", "jina_<h32><x28>", "vercel_blob_rw_<x24>_<x30>", "ak_live_<x30>",
    "rpa_<A40>", "tr_dev_<x20>", "tr_prod_<x20>", "sk_<h48>", "whsk_<x32>", "dsn_<h40>", "prnk_<h32>",
)  # fmt: skip


def value(dice: random.Random, shape: str) -> str:
    """Draw a value: a form with parts such as `<h32>`, or `word`, `signed`, `phrase`, `seed`, `login`."""
    if shape == "word":
        return dice.choice(WORDS)
    if shape == "signed":
        return _signed(dice)
    if shape == "phrase":
        return " ".join(dice.sample(WORDS, 3))
    if shape == "seed":
        return " ".join(dice.sample(SEEDS, 12))
    if shape == "basic":
        return base64.b64encode(f"bob:{_signed(dice)}".encode()).decode()
    return PART.sub(lambda part: _part(dice, part), shape)


def _part(dice: random.Random, part: re.Match[str]) -> str:
    if part[3]:
        return str(uuid.UUID(int=dice.getrandbits(128), version=4))
    drawn = "".join(dice.choices(ALPHABETS[part[1]], k=int(part[2])))
    # A drawn value without a digit, or without a letter, is rare and no fair sample of its alphabet.
    return drawn if part[1] in "Ld" or _is_mixed(drawn) else _part(dice, part)


def _is_mixed(drawn: str) -> bool:
    return any(map(str.isdigit, drawn)) and any(map(str.isalpha, drawn)) if len(drawn) > len("1234567") else True


def _signed(dice: random.Random) -> str:
    letters = "".join(dice.choices(LOWER, k=5))
    return f"{dice.choice(UPPER)}{letters}{dice.choice(SIGNS)}{dice.randrange(100, 9999)}{dice.choice(LOWER)}"
