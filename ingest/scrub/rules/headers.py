"""HTTP headers and cookies, in requests, code and logs."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import re
from base64 import b64decode
from binascii import Error
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.shapes import is_random, is_technical

SCHEMES: Final = "bearer token basic apikey api-key negotiate sso-key ssws genie key splunk discogs oauth dpop bot privatetoken apitoken mac hawk aws4-hmac-sha256"
SCHEME: Final = re.compile(
    r"(?<![a-z0-9])(?:bearer|token|basic|apikey|api-key|negotiate|sso-key|ssws|genie-?key|key|splunk|discogs token=|oauth|dpop|bot|privatetoken|apitoken|mac|hawk|aws4-hmac-sha256)(?:[ \t]+(?:token[ =:]{1,2})?|%20|\\u0020|:[ \t]*)(?:\\?[\"'])?(?P<s>[a-z0-9_\-.~+/=:%]{6,}+)"
)
COOKIE_NAME: Final = re.compile(
    r"(?:session|sess|sid|auth|token|jwt|remember|login|connect\.sid|gitea|forgejo|oauth2_proxy|authelia|aspnet|oc_|li_at|clearance|shib|csrf|secret|__(?:secure|host)-)",
    re.I,
)


def authorization(match: re.Match[str], text: str) -> Spans:
    value = text[match.start("s") : match.end("s")].rstrip(".,:;")
    scheme = match[0][:6]
    end = match.start("s") + len(value)
    if (
        value.startswith(("/", "=", ":", "%", "credential="))
        or match["s"].startswith("credential=")
        or text[end : end + 1] in ("(", "$", "{")
    ):
        return NOTHING
    is_bearer = scheme.startswith("bearer")
    if value.isalpha() and len(value) < SHORTEST and not scheme.startswith("basic"):
        return NOTHING
    if scheme.startswith("basic"):
        good = is_basic(value, text, match.start())
    else:
        good = is_scheme_token(value, text, match.start(), is_bearer=is_bearer)
    if good and not is_bearer:
        good = bool(CONTEXT.search(match.string, max(0, match.start() - FAR), match.end() + FAR))
    if not good or is_placeholder(value, quoted=True) or is_technical(value):
        return NOTHING
    return ((match.start("s"), end),)


def is_scheme_token(value: str, text: str, start: int, *, is_bearer: bool) -> bool:
    """After "bearer" much will do in a header, only what was drawn elsewhere; other schemes are words outside of one."""
    is_drawn = is_random(value, 12)
    if not is_drawn and (len(value) < 8 or value.isalpha() or not is_bearer):
        return False
    is_named = bool(NAMED.search(text, max(0, start - 40), start))
    return is_named if not is_bearer else is_named or is_random(value, 20)


SHORTEST: Final = 12
"""Fewer letters and nothing else are a word."""
FAR: Final = 2_000
CONTEXT: Final = re.compile(r"(?<![a-z])(?:(?:proxy|http)?authori[sz]ation|bearer|auth|headers?)(?![a-z])")
NAMED: Final = re.compile(r"authori[sz]ation|auth[\"']?\s{0,3}[:=]|-H\s|header", re.I)


def is_basic(value: str, text: str, start: int) -> bool:
    try:
        plain = b64decode(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True)
    except (Error, ValueError):
        return len(value) >= 16 and is_random(value, 16)
    _, colon, password = plain.partition(b":")
    if not colon or not password or any(byte < 32 for byte in plain):
        return False
    return not is_placeholder(password.decode("utf-8", "replace"), quoted=True) or (
        password.isalnum() and len(password) > 8 and b"pass" not in password
    )


COOKIE_BEFORE: Final = re.compile(r"(?<=[\s;:\"',])[A-Za-z_][\w.\-]{1,60}$")


def cookie(match: re.Match[str], text: str) -> Spans | None:
    value = match["s"]
    name = COOKIE_BEFORE.search(text, max(0, match.start() - 61), match.start())
    if not name:
        return None
    if not COOKIE_NAME.search(name[0]) or is_placeholder(value, quoted=True) or not is_random(value, 16):
        return NOTHING
    return (match.span("s"),)


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="authorization-header",
        kind="authorization",
        why="Bearer, Basic, token and similar schemes: what follows is the credential, whatever it looks like.",
        pattern=SCHEME,
        gate=gate(SCHEMES, also=("bearer", "auth", "header")),
        is_anchored=True,
        finds=(
            'curl -H "Authorization: Bearer ⟦{url64:27}⟧" https://x',
            "> Authorization: Basic ⟦{basic}⟧",
            "-H 'Authorization: token ⟦{hex:40}⟧'",
            "headers = {'Authorization': 'Bearer ⟦{alnum:40}⟧'}",
            "authorization: GenieKey ⟦{uuid}⟧",
            "AUTHORIZATION: BEARER ⟦{url64:40}⟧",
        ),
        leaves=(
            "Authorization: Bearer YOUR_ACCESS_TOKEN",
            'headers = {"Authorization": f"Bearer {token}"}',
            'WWW-Authenticate: Bearer realm="example"',
            "bearer of bad news here",
            "Basic auth creates a session",
            "Authorization: Bearer $TOKEN",
            'req.Header.Set("Authorization", "Bearer "+token)',
        ),
        worst="bearer ",
        validate=authorization,
        is_folded=True,
        is_nested=True,
    ),
    Rule(
        name="cookie",
        kind="cookie",
        why="A session cookie is a login.",
        pattern=re.compile(r"=(?P<s>[A-Za-z0-9_\-+/%.|~:!*]{16,}+)"),
        gate=gate("cookie phpsessid jsessionid sessionid sessid _gitlab_session"),
        finds=("Cookie: lang=cs; sessionid=⟦{lower:32}⟧", "Set-Cookie: PHPSESSID=⟦{lower:26}⟧; path=/; HttpOnly"),
        leaves=(
            "Cookie: lang=cs; theme=dark",
            "Set-Cookie: session=deleted; Max-Age=0",
            "cookie: consent=2026-01-01T00:00:00Z",
        ),
        worst=" sessionid=",
        validate=cookie,
    ),
)
