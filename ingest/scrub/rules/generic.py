"""Formats that nobody named yet, JSON Web Tokens, and a few values that only their place gives away."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from base64 import urlsafe_b64decode
from binascii import Error
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.shape import START, not_placeholder, token_span
from ingest.scrub.shapes import HEX, entropy, is_random, is_wordy

STRANGE_PREFIX: Final = frozenset(
    "pk pub phc mxc img pic file page sha sha1 sha256 md5 uuid id ref rev pr issue build web pod node vol pvc deps pip npm yarn cache linux main index chunk vendor sha512 digest commit screenshot pi pm py ch cus sub src evt req acct card txn po price prod si seti cs il ii inv tok file link dp pst plan qt tr trr in ba ca bps vs ses msg thread run asst call step chatcmpl resp batch team usr user org proj room evt ev tx blk job task snap ami vol subnet vpc sg rtb igw eni eipalloc pcx".split()
)


def jwt(match: re.Match[str], text: str) -> Spans:
    """Two or three parts of base64url, the first a JSON object with an algorithm. Cut ones have a dot and something after it."""
    value = match["s"]
    if is_placeholder(value, quoted=True):
        return NOTHING
    head = value.split(".", 1)[0]
    try:
        plain = urlsafe_b64decode(head + "=" * (-len(head) % 4))
    except (Error, ValueError):
        plain = b""
    if plain.startswith(b'{"') and (b'"alg"' in plain or b'"typ"' in plain or b'"kid"' in plain or b'"enc"' in plain):
        return token_span(match)
    return token_span(match) if value.count(".") >= 2 and plain.startswith(b'{"') and len(value) > 60 else NOTHING


CREDENTIAL_HEAD: Final = re.compile(
    r"(?:^|[_\-])(?:live|test|prod|secret|sec|sk|rk|token|tok|key|pat|api|auth|access|priv|svc|bot|app)(?:[_\-]|$)"
)
DIGIT: Final = re.compile(r"\d")
DIGITS: Final = DIGIT.findall
STRANGE_BODY: Final = (
    r"(?P<b>[A-Za-z0-9]{24,}+)(?:[_\-](?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{3,}+)*+={0,2}"
    r"(?![\w\-/.]{0,120}\.(?:js|css|png|jpe?g|svg|webp|woff2?|map|html?|gif|mp4|pdf)\b)(?![/@:])"
)
STRANGE_HEAD: Final = re.compile(r"[a-z][a-z0-9]{1,9}(?:[_\-][a-z0-9]{2,10}){0,3}[_\-]")
HEAD_SIGNS: Final = "abcdefghijklmnopqrstuvwxyz0123456789_-"
LONGEST_HEAD: Final = 44
NO_BORDER: Final = re.compile(r"[\w./:@$!#%\-]")


def stranger(match: re.Match[str], text: str) -> Spans:
    body = match["b"]
    is_hex = bool(HEX.fullmatch(body))
    if len(body) < 32 if is_hex else not DIGIT.search(body):
        return NOTHING
    window = text[max(0, match.start() - LONGEST_HEAD) : match.start() + 1]
    head = window[len(window.rstrip(HEAD_SIGNS)) :]
    start = match.start() + 1 - len(head)
    if not STRANGE_HEAD.fullmatch(head) or (start and NO_BORDER.match(text, start - 1)):
        return NOTHING
    prefix = head.rstrip("_-")
    is_named = bool(CREDENTIAL_HEAD.search(prefix))
    if is_hex:
        is_drawn = is_named
    else:
        is_mixed = body.lower() != body != body.upper()
        is_drawn = (
            match.end() - match.start("b") >= (24 if is_named else 30)
            and len(DIGITS(body)) >= (1 if is_mixed else 5)
            and entropy(body) >= 3.6
        )
    if not is_drawn or prefix.split("_")[0].split("-")[0] in STRANGE_PREFIX:
        return NOTHING
    return NOTHING if is_wordy(body) or is_placeholder(body, quoted=True) else ((start, match.end()),)


PGPASS_HOST: Final = re.compile(r"(?<![\w.:*/])(?:[\w.\-]{1,80}|\*)$")


def pgpass(match: re.Match[str], text: str) -> Spans | None:
    if not PGPASS_HOST.search(text, max(0, match.start() - 80), match.start()):
        return None
    return NOTHING if is_placeholder(match["s"]) or len(match["s"]) < 4 else (match.span("s"),)


def drawn_neighbour(match: re.Match[str], text: str) -> Spans:
    return NOTHING if is_placeholder(match["s"], quoted=True) or not is_random(match["s"], 12) else (match.span("s"),)


OPENED: Final = re.compile(r"\(\s{0,20}$")


def first_argument(match: re.Match[str], text: str) -> Spans | None:
    is_first = OPENED.search(text, max(0, match.start() - 21), match.start())
    return drawn_neighbour(match, text) if is_first else None


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="jwt",
        kind="jwt",
        why="JSON Web Tokens are sessions and service keys of half the services there are.",
        pattern=re.compile(
            START
            + r"(?P<s>eyJ[A-Za-z0-9_\-]{10,}+(?:\.{1,2}[A-Za-z0-9_\-]{6,}+(?:\.(?:\.?[A-Za-z0-9_\-]+){0,4}+)?|(?=\\\r?\n[ \t]*[A-Za-z0-9_\-]{8}|[\"'][ \t]*(?:[+.&]?[ \t]*\\?\r?\n)[^\n\"']{0,40}[\"'][A-Za-z0-9_\-.]{8})))"
        ),
        gate=gate("eyj", also=(".", "\\", "\n")),
        finds=("JWT=⟦{jwt}⟧", "Authorization: Bearer ⟦{jwt}⟧", "> ⟦{jwt}⟧\n\nwhy?"),
        leaves=("eyJeyJeyJeyJeyJeyJeyJeyJeyJeyJeyJeyJ", "eyJhbGciOi... is the header"),
        worst="eyJ",
        validate=jwt,
        is_anchored=True,
    ),
    Rule(
        name="named-by-prefix",
        kind="token",
        why="Services that nobody listed: a short prefix, an underscore, and 24 or more drawn characters outside a path.",
        pattern=re.compile("_" + STRANGE_BODY),
        gate=gate("_"),
        finds=("new: ⟦acme_{alnum:36}⟧", "TOKEN2 ⟦zzk_live_{alnum:32}⟧", "⟦zzk_{alnum:26}_{alnum:20}7⟧"),
        leaves=("kCVPixelFormatType_420YpCbCr8BiPlanarVideoRange", "page_2_of_{hex:24}"),
        worst="_aaaaaaaaaaaaaaaaaaaaaaaaa1/",
        validate=stranger,
    ),
    Rule(
        name="named-by-dashed-prefix",
        kind="token",
        why="The same with a dash.",
        pattern=re.compile("-" + STRANGE_BODY),
        gate=gate("-"),
        finds=("new: ⟦zzk-live-{alnum:36}⟧", "⟦zzk-{alnum:40}⟧"),
        leaves=(
            "main-e36c011731d944dd0927.css",
            "cache-key: linux-{hex:64}",
            "pod web-{hex:24}",
            "assignVariablesOjTabBar1482653721SelectedItem",
        ),
        worst="-aaaaaaaaaaaaaaaaaaaaaaaaa1.",
        validate=stranger,
    ),
    Rule(
        name="pgpass-line",
        kind="password",
        why="host:port:database:user:password, one line of ~/.pgpass.",
        pattern=re.compile(
            r":(?:\d{2,5}|\*):(?:[\w\-]{1,40}|\*):(?P<u>[\w.\-]{1,40}|\*):(?P<s>[^\s:\"'`<>‹›]{4,80}+)(?=[\s\"'`]|$)"
        ),
        gate=gate("pgpass :5432: :*:"),
        finds=("echo 'localhost:5432:app:jana:⟦{alnum:16}⟧' >> ~/.pgpass", "*:5432:*:ci:⟦{alnum:20}⟧"),
        leaves=("localhost:5432:app:<user>:<password>", "PGPASSFILE=~/.pgpass psql -h db"),
        worst="a:5432:a:",
        validate=pgpass,
    ),
    Rule(
        name="beside-account-id",
        kind="secret",
        why="In calls of SDKs the secret is the bare argument beside the account's id (Twilio, Plivo and the like).",
        pattern=re.compile(r"[\"'](?:SK|AC)[0-9a-f]{32}[\"']\s{0,4},\s{0,40}[\"'](?P<s>[A-Za-z0-9]{32})[\"']"),
        gate=gate("'ac 'sk \"ac \"sk"),
        finds=("client = Client('AC{hex:32}', '⟦{hex:32}⟧')",),
        leaves=("client = Client('AC{hex:32}', os.environ['TWILIO_AUTH_TOKEN'])",),
        worst="('AC",
        validate=first_argument,
        is_anchored=True,
    ),
    Rule(
        name="generated-output",
        kind="secret",
        why="What a generator printed under its command line, as sessions are pasted.",
        pattern=re.compile(
            r"(?:wg gen(?:key|psk)|openssl rand -(?:hex|base64) \d{1,4}|pwgen(?: -?\w{1,12}){0,4}|apg(?: -?\w{1,12}){0,4}|rclone obscure \S{1,60}|openvpn --genkey \S{1,40}|/dev/u?random[^\n]{0,80}|secrets\.token_(?:hex|urlsafe)\([^\n]{0,24}|(?:randomBytes|random_bytes)\([^\n]{0,60}|\| ?base64 (?:-d|-D|--decode)(?:[ ;&|]{1,4}echo)?)[ \t]*\r?\n(?:[>#$][ \t]?)?(?P<s>[A-Za-z0-9+/=_\-!*^%~?.]{12,}+)(?=\s|$|[`<])"
        ),
        gate=gate(
            "pwgen apg /dev/random /dev/urandom secrets.token_ randombytes( random_bytes(",
            "wg gen",
            "openssl rand",
            "rclone obscure",
            "openvpn --genkey",
            "| base64 -d",
            "|base64 -d",
            "| base64 --d",
        ),
        is_anchored=True,
        finds=(
            "$ wg genkey\n⟦{b64:43}=⟧\n$ wg pubkey\n{b64:43}=",
            "$ openssl rand -hex 32\n⟦{hex:64}⟧",
            "$ head -c 32 /dev/urandom | base64\n⟦{b64:43}=⟧",
            "kubectl get secret db -o jsonpath={.data.pw} | base64 -d\n⟦{alnum:16}⟧",
        ),
        leaves=("pwgen -s 24 1", "openssl rand -base64 32", "$ wg pubkey\n{b64:43}="),
        worst="openssl rand -hex 1 ",
        validate=drawn_neighbour,
    ),
    Rule(
        name="django-key",
        kind="secret",
        why="Keys that Django's startproject made say so.",
        pattern=re.compile(r"(?P<s>django-insecure-[^\s\"'`<>‹›]{20,}+)"),
        gate=gate("django-insecure-"),
        finds=("SECRET_KEY = '⟦django-insecure-{signs:50}⟧'",),
        leaves=("keys that begin with django-insecure- are for development",),
        worst="django-insecure-",
        validate=not_placeholder,
        is_anchored=True,
    ),
    Rule(
        name="docker-config",
        kind="secret",
        why="A Docker configuration in base64, as Kubernetes stores registry passwords.",
        pattern=re.compile(
            START + r"(?P<s>(?:eyJhdXRocyI6|ewogICJhdXRocyI6|ewoJImF1dGhzIjo)[A-Za-z0-9+/]{24,}+={0,2})"
        ),
        gate=gate("eyjhdxrocyi6 ewogicjhdxrocyi6 ewojimf1dghzijo"),
        finds=(".dockerconfigjson: ⟦eyJhdXRocyI6{b64:80}⟧",),
        leaves=("eyJhdXRocyI6 is where it begins",),
        worst="eyJhdXRocyI6",
        is_anchored=True,
    ),
    Rule(
        name="saml-response",
        kind="token",
        why="What an identity provider posts is a login as long as it is fresh; a request of SAML is none.",
        pattern=re.compile(
            START
            + r"(?P<s>(?:PHNhbWxwOlJlc3BvbnNl|PHNhbWwycDpSZXNwb25zZ|PHNhbWw6QXNzZXJ0aW9u|PHNhbWwyOkFzc2VydGlvb)[A-Za-z0-9+/%]{40,}+={0,2})"
        ),
        gate=gate("phnhbwxwoljlc3bvbnnl phnhbwwycdpszxnwb25zz phnhbww6qxnzzxj0aw9u phnhbwwyokfzc2vydglvb"),
        finds=("SAML says ⟦PHNhbWxwOlJlc3BvbnNl{alnum:200}⟧", "⟦PHNhbWwyOkFzc2VydGlvb{alnum:120}==⟧"),
        leaves=("PHNhbWxwOlJlc3BvbnNl is how they begin", "SAMLRequest=PHNhbWxwOkF1dGhuUmVxdWVzdC{alnum:80}"),
        worst="PHNhbWxwOlJlc3BvbnNl",
        is_anchored=True,
    ),
    Rule(
        name="paseto",
        kind="token",
        why="Platform-agnostic tokens: version, purpose and a payload, which is a session as a JWT is.",
        pattern=re.compile(
            r"v[1-4](?<![0-9A-Za-z_]v[1-4])\.(?P<s>(?:local|public)\.[A-Za-z0-9_\-]{40,}+(?:\.[A-Za-z0-9_\-]+)?)"
        ),
        gate=gate(" ".join(f"v{n}.{purpose}." for n in "1234" for purpose in ("local", "public"))),
        is_anchored=True,
        finds=("v2.⟦local.{url64:120}⟧",),
        leaves=("v2.local.example.org", "v1.public.api.example.org"),
        worst="v2.local.",
    ),
)
