"""What lets somebody into a Matrix account, a server or an encrypted history."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.checksums import is_matrix_checked, is_recovery_key
from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.prose import is_strong, is_unspoken
from ingest.scrub.rules.shape import START, checked, not_placeholder, token
from ingest.scrub.shapes import is_random


def recovery_key(match: re.Match[str], text: str) -> Spans:
    """All that are whole have a good parity; one with a wrong character is a secret if its length is right."""
    value = match["s"]
    compact = "".join(value.split())
    if is_recovery_key(value) or (44 <= len(compact) <= 50 and is_random(compact, 40)):
        return (match.span("s"),)
    return NOTHING


def signing_key(match: re.Match[str], text: str) -> Spans:
    if is_placeholder(match["s"], quoted=True) or not is_random(match["s"], 40):
        return NOTHING
    return (match.span("s"),)


def strong_argument(match: re.Match[str], text: str) -> Spans:
    value = match["s"]
    good = (is_strong(value) or is_unspoken(value)) and value[0] not in "@!#$+"
    return (match.span("s"),) if good and not is_placeholder(value, quoted=True) else NOTHING


AWAITED: Final = re.compile(r"await [\w.]{1,60}$")


def awaited(match: re.Match[str], text: str) -> Spans | None:
    before = AWAITED.search(text, max(0, match.start() - 67), match.start())
    return strong_argument(match, text) if before else None


RULES: Final[tuple[Rule, ...]] = (
    token(
        "matrix-access-token",
        "Access, refresh and login tokens of Synapse: user in base64, random letters, CRC.",
        r"sy[trl]_(?P<b>[A-Za-z0-9+/=\-]{1,400}_[A-Za-z]{8,40}(?:_[A-Za-z0-9]{0,10})?)(?![A-Za-z0-9])|sy[trl]_(?P<c>[A-Za-z0-9_]{18,}+)",
        gate("syt_ syr_ syl_"),
        ("MATRIX_TOKEN=⟦{synapse:syt_}⟧", "ahoj, ⟦{synapse:syr_}⟧, prosím smaž", "?access_token=⟦{synapse:syt_}⟧'"),
        ("MATRIX_ACCESS_TOKEN=syt_...", "tokens look like syt_<base64 localpart>_<random>_<crc>"),
        worst="syt_",
        kind="matrix-token",
        validate=checked(is_matrix_checked, 16),
    ),
    token(
        "matrix-auth-service-token",
        "Access, refresh, compatibility and personal tokens of the Matrix Authentication Service.",
        r"m(?:at|ar|ct|cr|pt)_(?P<b>[A-Za-z0-9]{16,80}(?:_[A-Za-z0-9]{0,10})?)(?![A-Za-z0-9])",
        gate("mat_ mar_ mct_ mcr_ mpt_"),
        ("Matrix token: ⟦{mas:mat_}⟧", "TOKEN=⟦{mas:mct_}⟧", "⟦{mas:mpt_}⟧"),
        ("mat_widget_container_height_default", "mar_2026_report"),
        worst="mat_",
        kind="matrix-token",
        validate=checked(is_matrix_checked, 16),
    ),
    token(
        "macaroon",
        "Tokens of old Synapse and of package registries: a macaroon in base64 begins with its packet length and location.",
        r"MDA[A-Za-z0-9_\-]{2,8}(?:xvY2F0aW9u|ZpZGVudGlm)(?P<b>[A-Za-z0-9_\-+/]{24,}+={0,2})",
        gate("mda"),
        ("token: ⟦{macaroon}⟧",),
        ("MDAx is where they begin",),
        worst="MDAxxvY2F0aW9u",
        validate=not_placeholder,
    ),
    Rule(
        name="matrix-recovery-key",
        kind="matrix-recovery-key",
        why="Opens the secret storage, and with it all encrypted history. 8B 01 makes each begin with EsT or EsU.",
        pattern=re.compile(
            r"(?P<s>Es[TU](?<![0-9A-Za-z]Es[TU])[1-9A-HJ-NP-Za-km-z](?:[ \t\u00a0]{1,3}[1-9A-HJ-NP-Za-km-z]{1,4}){9,11}+|Es[TU](?<![0-9A-Za-z]Es[TU])[1-9A-HJ-NP-Za-km-z]{40,47}+)(?![0-9A-Za-z])"
        ),
        gate=gate("est esu"),
        finds=("Recovery key: ⟦{recovery: }⟧\nKeep it safe.", "(⟦{recovery}⟧)", "obnovovací klíč je ⟦{recovery: }⟧"),
        leaves=(
            "the recovery key begins with EsT or EsU",
            "compare the fingerprint 88vX IsDo RIHk PHLM juyj bylA UT2Z 0vDT Z0SK NvYT PS8",
        ),
        worst="EsT1 ",
        validate=recovery_key,
        is_anchored=True,
    ),
    Rule(
        name="matrix-encryption-secret",
        kind="matrix-secret",
        why="What the Matrix Authentication Service encrypts its database and cookies with: `secrets.encryption`.",
        pattern=re.compile(r"encryption[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?P<s>[0-9a-f]{64})(?![0-9a-zA-Z])"),
        gate=gate('encryption: encryption= encryption"', "encryption "),
        finds=("secrets:\n  encryption: ⟦{hex:64}⟧\n  keys: []",),
        leaves=("encryption: aes-256-gcm", "encryption: true"),
        worst="encryption: ",
        validate=not_placeholder,
        is_anchored=True,
    ),
    Rule(
        name="matrix-user-and-password",
        kind="password",
        why="Libraries of bots: the id of a user and, as the next argument, a password.",
        pattern=re.compile(
            r"[\"']@[\w.=/\-]{1,60}:[\w.\-]{3,80}(?::\d{2,5})?[\"'][ \t]{0,4},\s{0,24}[\"'](?P<s>[^\s\"']{6,128})[\"']"
        ),
        gate=gate("\"@ '@"),
        is_anchored=True,
        finds=('Bot("https://matrix.example.org", "@bot:example.org", "⟦{signs:14}1aB⟧")',),
        leaves=(
            '("@jana:example.org", "@petr:example.org")',
            'await room.invite("@jana:example.org", "welcome")',
        ),
        worst='"@a:bcd", "',
        validate=strong_argument,
    ),
    Rule(
        name="awaited-login",
        kind="password",
        why="nio's login takes the password alone: the user was told before.",
        pattern=re.compile(r"\.login\(\s{0,24}[\"'](?P<s>[^\s\"']{6,128})[\"']"),
        gate=gate(".login("),
        finds=('await client.login("⟦{signs:14}1aB⟧")',),
        leaves=('await client.login("username")', 'session.login("jana2", x)', 'client.login("<password>")'),
        worst='await a.login("',
        validate=awaited,
        is_anchored=True,
    ),
    Rule(
        name="matrix-signing-key",
        kind="signing-key",
        why="Whoever has a homeserver's signing key is that homeserver. The file's form: algorithm, key id, seed.",
        pattern=re.compile(
            START
            + r"ed25519[ \t]+(?P<id>a_[A-Za-z0-9]{1,16}|[A-Za-z0-9_]{1,10})[ \t]+(?P<s>[A-Za-z0-9+/]{43}=?)(?![A-Za-z0-9+/=])"
        ),
        gate=gate("", "ed25519 ", "ed25519\t"),
        finds=("ed25519 a_{alnum:4} ⟦{b64:43}⟧", "ed25519 a_{alnum:4} ⟦/{b64:42}⟧", "`ed25519 auto ⟦{b64:43}⟧`"),
        leaves=("ed25519:JDJLTAQFEW {b64:43}", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:43}"),
        worst="ed25519 a_",
        validate=signing_key,
        is_anchored=True,
    ),
)
