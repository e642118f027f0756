"""Credentials inside addresses: user:password@, tokens as user, secret parameters, webhook and feed paths."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.names import Slot, known_slot
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.shape import not_placeholder
from ingest.scrub.shapes import UUID, is_random, is_wordy, looks_chosen

LONGEST_USERINFO: Final = 400
USERINFO: Final = re.compile(r"(?P<user>[^\s:/@?#\"'<>`‹›\\]{0,128}):(?P<s>[^\s\"'<>`‹›]{1,256}?)@(?=[\w\[$%{*.-])")
HEX_KEY: Final = re.compile("[0-9a-f]{32}")
PORT: Final = re.compile(r"\d{1,5}(?=[/?#\s,;]|$)")
DUMMY_PASSWORDS: Final = frozenset("pass password passwd pwd secret token key xxx user username".split())
QUERY_NAMES: Final = frozenset(
    """
    sig signature x-amz-signature x-goog-signature x-amz-security-token x-oss-signature key auth authkey code st hdnts hdnea policy ticket sid session
    jwt access_token id_token refresh_token private_token job_token feed_token rss_token incoming_email_token token t_token apikey api_key api-key appkey
    app_key subscription-key sharedaccesssignature k secret client_secret password passwd pass pwd pw psk hash_key logintoken login_token
    confirmation_token invite_token reset_token magic otp oobcode zak tk accesskey access_key accesskeyid authtoken auth_token oauth_token
    oauth_verifier oauth_signature webhook_key se_token user_token usertoken device_token x-api-key apitoken api_token securitytoken
    security_token appid hmac credential assertion samlresponse client_assertion state_token streamkey stream_key pat bot_token
    """.split()
)
LOOSE_NAMES: Final = frozenset("key k code st state t sid policy ticket magic session auth hash".split())


def userinfo(match: re.Match[str], text: str) -> Spans:
    """The password reaches to the last @ before the host: people do not escape theirs."""
    if text.find("@", match.end(), match.end() + LONGEST_USERINFO) < 0:
        return NOTHING
    found = USERINFO.match(text, match.end())
    if not found:
        return NOTHING
    user, value = found["user"], found["s"]
    start, end = found.span("s")
    if PORT.match(text, start) and ("/" in value or "?" in value or ";" in value):
        return NOTHING
    if "/" in value or "?" in value or "#" in value:
        slash = min(value.find(c) for c in "/?#" if c in value)
        is_host = ("." in user and "%40" not in user) or user == "localhost"
        if is_host or not looks_chosen(value, 5) or slash == 0:
            return NOTHING
    further = re.compile(r"[^\s\"'<>`‹›/?#]{1,128}@(?=[\w\[])").match(text, end + 1)
    if further:
        value, end = text[start : further.end() - 1], further.end() - 1
    if (
        (user.startswith("$") and "$" in value)
        or value.lower() in DUMMY_PASSWORDS
        or value.lower() == user.lower() == "user"
    ):
        return NOTHING
    if value == "x-oauth-basic" or value in ("x", "X", "@"):
        return token_user(text, found.span("user"))
    if is_placeholder(value, quoted=True) or (
        value.startswith("%") and is_placeholder(value.replace("%2A", "*"), quoted=True)
    ):
        return NOTHING
    if value.startswith((":", ",")) or set(value) <= set(":/@.,"):
        return NOTHING
    if HEX_KEY.fullmatch(user) and HEX_KEY.fullmatch(value):
        return found.span("user"), (start, end)  # as DSNs of Sentry were once
    return ((start, end),)


def token_user(text: str, span: tuple[int, int]) -> Spans:
    value = text[slice(*span)]
    return (span,) if is_random(value, 16) and not is_placeholder(value, quoted=True) else NOTHING


def lone_user(match: re.Match[str], text: str) -> Spans:
    value = match["s"]
    if is_placeholder(value, quoted=True) or not is_random(value, 20) or UUID.fullmatch(value):
        return NOTHING
    return (match.span("s"),)


SCHEMES: Final = frozenset("mailto xmpp sip sips acct cc bcc to from reply-to mail email e-mail irc jabber".split())
"""What stands before an address and a colon, and is no user."""
SHORTEST: Final = 6
USER_BEFORE: Final = re.compile(r"(?<![\w./:@%\-!#$])[A-Za-z][\w.\-]{0,40}:(?P<s>[^\s:@/\"'<>`‹›(){}\[\]]{6,64})$")


def bare_userinfo(match: re.Match[str], text: str) -> Spans | None:
    """What stands before the @ up to the colon, and the user before that."""
    at = match.start()
    colon = text.rfind(":", max(0, at - 65), at)
    if colon < 1 or at - colon <= SHORTEST or not (found := USER_BEFORE.search(text, max(0, colon - 41), at)):
        return None
    if found[0].partition(":")[0].lower() in SCHEMES or is_placeholder(found["s"]) or not looks_chosen(found["s"], 6):
        return NOTHING
    return (found.span("s"),)


PARAMETER: Final = re.compile(r"[^\s&#\"'<>`‹›)(\]}|;\\,]*+")
NESTED: Final = re.compile(r"\??[a-z_]+=", re.I)


def query(match: re.Match[str], text: str) -> Spans:
    """A name that promises a credential, or one that may mean anything with a value that was drawn."""
    name = text[match.start("name") : match.end("name")].lower()
    value = text[match.start("s") : match.end("s")]
    slot = known_slot(name)
    if name not in QUERY_NAMES and slot is None:
        return NOTHING
    seen = value[:128]
    if slot is Slot.PASSWORD:
        good = not NESTED.match(seen)
    elif name in LOOSE_NAMES or (slot is None and len(value) < 24):
        good = is_random(seen, 20) and not is_wordy(seen)
    else:
        good = is_random(seen, 8) or looks_chosen(seen, 8)
    if not good or is_placeholder(seen, quoted=True):
        return NOTHING
    end = PARAMETER.match(text, match.end("s")).end()  # type: ignore[union-attr]  # matches nothing as well
    return ((match.start("s"), end),)


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="url-password",
        kind="url-password",
        why="user:password@host in addresses of databases, queues, proxies, mail, files and the web. Any password counts here.",
        pattern=re.compile(r":(?:\\?/){2}"),
        gate=gate(":// :\\/\\/", also=("@",)),
        finds=(
            "postgres://app:⟦{weak}⟧@db.example.net/app",
            "redis://:⟦{alnum:16}⟧@cache:6379/0",
            "mongodb+srv://jana:⟦{alnum:12}⟧@m1.example.net,m2.example.net/admin",
            "amqps://svc:⟦o8r%23bQX8vv⟧@mq/prod",
            "git clone https://x-access-token:⟦{lower:40}⟧@git.example.org/a.git",
            "mysql://root:⟦p@ss{alnum:8}⟧@127.0.0.1/db",
        ),
        leaves=(
            "postgres://db.example.net:5432/app",
            "https://maps.example.org/@50.0875,14.4213,15z",
            "http://localhost:8080/@vite/client",
            "https://user:pass@host/",
            "https://oauth2:$TOKEN@git.example.org/app.git",
            "ssh://git@git.example.org:2222/team/app.git",
            "postgres://app:‹redacted:password›@db/app",
        ),
        worst="a://a:",
        validate=userinfo,
        is_anchored=True,
    ),
    Rule(
        name="url-user-token",
        kind="url-token",
        why="A token as the user of an address: Sentry DSNs, git remotes.",
        pattern=re.compile(r"://(?P<s>[A-Za-z0-9_\-]{20,256}+)(?::x-oauth-basic|:)?@(?=[\w\[])"),
        gate=gate("://", also=("@",)),
        finds=("SENTRY_DSN=https://⟦{hex:32}⟧@o1.ingest.example.org/42",),
        leaves=("https://some-rather-long-user-name@git.example.org/a.git",),
        worst="a://aaaaaaaa",
        validate=lone_user,
        is_anchored=True,
    ),
    Rule(
        name="bare-userinfo",
        kind="url-password",
        why="user:password@host:port without a scheme, as proxies and connection strings are pasted.",
        pattern=re.compile(r"@(?=(?:[A-Za-z0-9\-]{1,63}\.){1,5}[A-Za-z0-9]{1,24}|localhost)"),
        gate=gate("@", also=(":",)),
        finds=("proxy: deploy:⟦{chosen}⟧@proxy.example.org:3128",),
        leaves=(
            "@bot:example.org: hello",
            "mailto:jana.novak@example.org",
            "matrix:u/bot2:x@example.org",
            "cc:first2last@example.org",
        ),
        worst="a:",
        validate=bare_userinfo,
    ),
    Rule(
        name="otpauth",
        kind="totp-secret",
        why="The seed of a second factor.",
        pattern=re.compile(
            r"otpauth(?:-migration)?://[^\s\"'<>`]{0,300}?(?:secret|data)=(?P<s>[A-Za-z2-7%+/=_\-0-9]{8,}+)", re.I
        ),
        gate=gate("otpauth"),
        is_anchored=True,
        finds=("otpauth://totp/Example:jana%40example.org?secret=⟦{base32:32}⟧&issuer=Example",),
        leaves=(
            "otpauth://totp/Example:alice?secret=<SECRET>&issuer=Example",
            "otpauth://totp/ACME?secret=YOUR_SECRET_HERE",
        ),
        worst="otpauth://",
        validate=not_placeholder,
    ),
    Rule(
        name="wifi-uri",
        kind="password",
        why="What the QR code of a wireless network says.",
        pattern=re.compile(r"WIFI:[^\s\"'<>`]{0,120}?\bP:(?P<s>(?:[^;\s\\]|\\.){4,64})", re.I),
        gate=gate("wifi:"),
        is_anchored=True,
        finds=("WIFI:T:WPA;S:Office;P:⟦{chosen}⟧;;",),
        leaves=("WIFI:T:nopass;S:Guest;;",),
        worst="WIFI:",
        validate=not_placeholder,
    ),
    Rule(
        name="url-parameter",
        kind="url-secret",
        why="Signed addresses and keys in parameters; whoever has the link is let in.",
        pattern=re.compile(
            r"[?&;#%](?:(?<=%)(?:3f|26)|(?<!%)(?:amp;)?)(?P<name>[a-z][a-z0-9_.\-]{0,39}+)(?:=|%3d)(?P<s>[^\s&#\"'<>`‹›)(\]}|;\\,]{4,256}+)"
        ),
        gate=gate("jsessionid %3f %26 ? &", also=("=", "%3d")),
        finds=(
            "https://x.blob.example.net/b/db.dump?sv=2022-11-02&sp=rl&sig=⟦XLm{alnum:37}%3D⟧",
            "GET /v1/report?token=⟦{hex:32}⟧ HTTP/1.1",
            "https://api.example.com/feed.ics?format=json&key=⟦{alnum:40}⟧",
            '<a href="https://api.example.com/rss?password=⟦{alnum:20}⟧&amp;x=1">',
            "https://s3.example.org/a?X-Amz-Signature=⟦{hex:64}⟧",
            "to=https%3A%2F%2Fexample.org%2F%3Ftoken%3D⟦{hex:40}⟧",
        ),
        leaves=(
            "https://example.org/feed?token=TOKEN",
            "https://example.com/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf",
            "?api_key={api_key}",
            "/sync?timeout=30000&since=s123_456_7_8_9",
            "?crid=OR57O2YW9P6RL&keywords=usb+cable",
            "&key=name&code=200",
        ),
        worst="?token=",
        validate=query,
        is_folded=True,
    ),
)
