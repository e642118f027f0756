"""Private keys in armour: PEM, PGP, OpenVPN, megolm, PuTTY, JWK and bare bodies.

The body goes, the lines that name it stay. A block may be quoted, indented, commented, part of a diff, in one line with
escaped line ends, cut off before its end or after its beginning.
"""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.checksums import is_base58check, is_bech32
from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.shape import START, STARTED
from ingest.scrub.shapes import is_random

GAP: Final = r"(?:\\{1,4}[nrt]|\r\n|\r|\n|&#1[03];|<br\s?/?>|%0[AaDd])"
PREFIX: Final = r"(?:[ \t>|+#*/;:\-\"',.()]|&gt;|\\t){0,24}?"
JOINED: Final = rf"(?:[\"'`][ \t]{{0,4}}[+.&,]?[ \t]{{0,4}}\\?(?={GAP}))?+"
"""What ends a line of a string that goes on in the next one."""
LEAD: Final = rf"{JOINED}(?:{GAP}[ \t>|+#*]{{0,12}}+(?={GAP}))*+(?:{GAP}|[ \t])*+"
BODY_LINE: Final = re.compile(
    rf"{LEAD}{PREFIX}(?P<b>[A-Za-z0-9+/=_\-]{{4,}}+)[ \t\"'+\\,|]*?(?=$|{GAP}|[ \t\"'+,`<)\]}}…\\;&|.])"
)
WHOLE_LINES: Final = re.compile(
    r"(?:(?:\\{1,4}n|\r?\n)[ \t>|+#*]{0,24}?(?=[A-Za-z+/]{0,200}[0-9])[A-Za-z0-9+/]{24,}+(?=\r?\n|\\n))*+"
)
"""Lines that nobody takes for anything but a body, all at once: what `BODY_LINE` and `is_body` say one by one."""
HEADER_LINE: Final = re.compile(rf"(?:{GAP})*+{PREFIX}[A-Z][A-Za-z\-]{{2,20}}: [^\r\n\\]{{0,200}}(?={GAP}|$)")
END_LINE: Final = re.compile(rf"{LEAD}{PREFIX}-{{4,5}} ?END\b")
ENOUGH: Final = 12
DIGIT: Final = re.compile("[0-9+/]")
NO_WORD: Final = re.compile("[0-9+/]|(?<=.)[A-Z]")
"""Base64 has them; a word has capitals only at its beginning."""


def body_after(text: str, at: int) -> tuple[int, int] | None:
    """First and last offset of what follows an opening line; headers such as `Proc-Type:` stay in front of it."""
    start = end = -1
    while True:
        if END_LINE.match(text, at):
            break
        header = HEADER_LINE.match(text, at) if start < 0 else None
        if header:
            at = header.end()
            continue
        line = BODY_LINE.match(text, at)
        if not line or not is_body(line["b"], start >= 0):
            break
        if start < 0:
            start = line.start("b")
        at = end = WHOLE_LINES.match(text, line.end("b")).end()  # type: ignore[union-attr]  # it matches nothing as well
    return (start, end) if start >= 0 else None


def is_body(piece: str, is_inside: bool) -> bool:
    """Base64 or hex, not a word of the sentence that follows a block that was cut off."""
    if piece.startswith("=") and len(piece) == 5:  # the CRC line of PGP
        return True
    if len(piece) >= 24:
        return bool(NO_WORD.search(piece))
    if not is_inside:
        return len(piece) >= ENOUGH and is_random(piece, ENOUGH)
    if piece.endswith("=") or DIGIT.search(piece):
        return True
    return bool(NO_WORD.search(piece)) and piece != piece.upper()


ENCODED: Final = re.compile(
    r"-{0,5}(?:%0[AaDd]|%20|\+)*+(?P<s>(?:[A-Za-z0-9+/=_]|%(?:2[BbFf]|3[Dd]|0[AaDd]|20)|-(?!----))++)"
)
"""A body in an address."""


def block(match: re.Match[str], text: str) -> Spans:
    if match["word"][-1] != " ":
        encoded = ENCODED.match(text, match.end())
        return (encoded.span("s"),) if encoded and is_random(encoded["s"], ENOUGH) else NOTHING
    body = body_after(text, match.end())
    if not body:
        return NOTHING
    start, end = body
    if text[start] == "+" and text[match.start("word") - 6 : match.start("word") - 5] == "+":
        start += 1  # the sign of a diff, which BEGIN has as well
    value = text[start:end]
    if len(value) < ENOUGH or is_placeholder(value[:80], quoted=True):
        return NOTHING
    return ((start, end),)


LINE_BEFORE: Final = re.compile(r"(?P<b>[A-Za-z0-9+/=]{24,200})[ \t\"'\\]*$")


def block_before(match: re.Match[str], text: str) -> Spans:
    """The end of a block whose beginning is not there."""
    start = end = -1
    at = (
        len(text[: match.start()].rstrip("- "))
        if match.start() < 200
        else match.start()
        - len(text[match.start() - 200 : match.start()])
        + len(text[match.start() - 200 : match.start()].rstrip("- "))
    )
    floor = max(0, at - 20_000)
    while at > floor:
        cut = max(text.rfind("\n", floor, at), text.rfind("\\n", floor, at) + 1)
        line = text[max(cut + 1, floor) : at]
        stripped = line.strip(" \t>|+#*\r\\\"'")
        if not stripped and end < 0 and cut > floor:
            at = cut if text[cut] == "\n" else cut - 1
            continue
        found = LINE_BEFORE.search(line.rstrip("\r\\ "))
        short = (
            end < 0
            and re.fullmatch(r"[A-Za-z0-9+/]{4,23}={0,2}", stripped)
            and any(c in "=+/0123456789" for c in stripped)
        )
        if short:
            start, end = text.index(stripped, max(cut + 1, floor)), 0
            end = start + len(stripped)
        elif found and is_body(found["b"], is_inside=True):
            begin = max(cut + 1, floor) + found.start("b")
            if text[begin] == "+" and text[match.start("word") - 6 : match.start("word") - 5] == "+":
                begin += 1  # the sign of a diff, which END has as well
            end = max(cut + 1, floor) + found.end("b") if end < 0 else end
            start = begin
        else:
            break
        if cut <= floor:
            break
        at = cut if text[cut] == "\n" else cut - 1
    return ((start, end),) if end >= 0 and end - start >= ENOUGH else NOTHING


def putty(match: re.Match[str], text: str) -> Spans:
    body = body_after(text, match.end())
    return (body,) if body else NOTHING


def jwk(match: re.Match[str], text: str) -> Spans:
    """`d`, `p`, `q` … of a key whose neighbours say that it is one, `k` of a symmetric one."""
    near = text[max(0, match.start() - 4000) : match.end() + 4000]
    if not re.search(r"""\\?["']?kty\\?["']?\s*:""", near) or is_placeholder(match["s"], quoted=True):
        return NOTHING
    return (match.span("s"),)


def drawn_key(match: re.Match[str], text: str) -> Spans:
    value = match["s"]
    good = value.startswith("AGE-") or is_bech32(value) or is_base58check(value) or is_random(value, 40)
    return (match.span("s"),) if good and not is_placeholder(value, quoted=True) else NOTHING


PRIVATE: Final = (
    r"(?:--|- )(?P<word>BEGIN(?: |%20|\+))(?:(?:[A-Z0-9]{1,12}(?: |%20|\+)){0,3}(?:PRIVATE|SECRET)(?: |%20|\+)KEY(?: BLOCK)?-{0,5}"
    r"|(?:MEGOLM SESSION DATA|OpenVPN (?:Static key V1|tls-crypt-v2 (?:client|server) key)|OPENVPN STATIC KEY V1|SSH2 ENCRYPTED PRIVATE KEY|SSH2 PRIVATE KEY)(?: ?-{0,5})?)"
)

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="private-key-block",
        kind="private-key",
        why="PEM, OpenSSH, PGP, OpenVPN and megolm exports. The END line is not waited for: people cut keys off.",
        pattern=re.compile(PRIVATE),
        gate=gate("--begin%20 --begin+", "--begin ", "- begin "),
        finds=(
            "-----BEGIN RSA PRIVATE KEY-----\n⟦{body:8}⟧\n-----END RSA PRIVATE KEY-----",
            "> -----BEGIN PGP PRIVATE KEY BLOCK-----\n> Version: GnuPG v2\n> \n> ⟦{body:6,\n> }⟧\n> -----END PGP PRIVATE KEY BLOCK-----\n\nwhy?",
            'key = "-----BEGIN PRIVATE KEY-----\\n⟦{body:4,\\n}⟧\\n-----END PRIVATE KEY-----\\n"',
            "cut off:\n-----BEGIN OPENSSH PRIVATE KEY-----\n⟦{body:3}⟧\n…",
            "+-----BEGIN EC PRIVATE KEY-----\n+⟦{body:3,\n+}⟧\n+-----END EC PRIVATE KEY-----",
            "-----BEGIN OpenVPN Static key V1-----\n⟦{hex:32}\n{hex:32}\n{hex:32}⟧\n-----END OpenVPN Static key V1-----",
            "-----BEGIN MEGOLM SESSION DATA-----\n⟦{body:3}⟧\n-----END MEGOLM SESSION DATA-----",
            '"-----BEGIN PRIVATE KEY-----" +\n"⟦{b64:64}" +\n"{b64:64}" +\n"{b64:40}==⟧" +\n"-----END PRIVATE KEY-----"',
            "key=-----BEGIN%20PRIVATE%20KEY-----%0A⟦{alnum:64}%0A{alnum:64}%3D%3D%0A⟧-----END%20PRIVATE%20KEY-----%0A",
        ),
        leaves=(
            "-----BEGIN RSA PRIVATE KEY-----\n<your key here>\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN PUBLIC KEY-----\n{body:4}\n-----END PUBLIC KEY-----",
            "if \"-----BEGIN PRIVATE KEY-----\" not in text: raise ValueError('not a PEM file')",
            "-----BEGIN CERTIFICATE-----\n{body:4}\n-----END CERTIFICATE-----",
            "-----BEGIN PGP MESSAGE-----\n\n{body:4}\n-----END PGP MESSAGE-----",
        ),
        worst="-----BEGIN RSA PRIVATE KEY-----\nAAAA1AAAAAAA1AAAAAAAAAAAAAAAAA\n",
        validate=block,
        is_anchored=True,
    ),
    Rule(
        name="private-key-tail",
        kind="private-key",
        why="The second half of a key, whose first half went into another message.",
        pattern=re.compile(
            r"(?:--|- )(?P<word>END )(?:(?:[A-Z0-9]{1,12} ){0,3}(?:PRIVATE KEY|SECRET KEY)|MEGOLM SESSION DATA|OpenVPN Static key V1)"
        ),
        gate=gate("", "--end ", "- end "),
        finds=("here is the rest:\n⟦{body:3}⟧\n-----END RSA PRIVATE KEY-----",),
        leaves=("it ends with -----END RSA PRIVATE KEY-----",),
        worst="AAAA1AAAAAAA1AAAAAAAAAAAAAAAAA\n-----END RSA PRIVATE KEY-----\n",
        validate=block_before,
        is_anchored=True,
    ),
    Rule(
        name="private-key-body",
        kind="private-key",
        why="Bodies without armour: the first bytes of OpenSSH, PKCS#1, PKCS#8 and SEC1 private keys are always the same.",
        pattern=re.compile(
            START
            + r"(?=b3BlbnNzaC1rZXktdjE|MII[A-Za-z0-9+/]{5}IBA[A-Za-z]KC|MII[A-Za-z0-9+/]{2}(?:wI|gI|QI|AI)BA(?:A|D)ANBg|MHcCAQEE|MIGkAgEBB|MIHcAgEBB|MC4CAQAwBQYDK2V|MIGHAgEAMBMG|MIG2AgEAMBAG|"
            r"MIIE[a-z]{1,2}IBA|LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,24}(?:UFJJVkFURSBLRV|BSSVZBVEUgS0|QUklWQVRFIEtF))(?P<s>[A-Za-z0-9+/]{32,}+(?:(?:\r?\n|\\n)[ \t>]{0,12}[A-Za-z0-9+/]{32,}+)*+(?:(?:\r?\n|\\n)[ \t>]{0,12}(?:[A-Za-z0-9+/]{2,31}={1,2}|(?=[A-Za-z+/]{0,31}[0-9])[A-Za-z0-9+/]{4,31}+(?=\r?\n|\\n|[\x22'`]|$)))?={0,2})"
        ),
        gate=gate(
            "b3blbnnzac1 mii mhccaqee migkagebb mihcagebb mc4caqawbqydk2v mighageambmg mig2ageambag ls0tls1crudjti"
        ),
        finds=(
            "id_ed25519 is ⟦b3BlbnNzaC1rZXktdjEAAAAA{b64:60}\n{b64:70}⟧",
            "tls.key: ⟦LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t{b64:200}⟧",
        ),
        leaves=("MIIB... is a certificate", "cert: MIIDXTCCAkWgAwIBAgIJ{b64:100}"),
        worst="MHcCAQEE",
        is_anchored=True,
    ),
    Rule(
        name="putty-key",
        kind="private-key",
        why="PuTTY files have no armour lines; the private part is counted in lines.",
        pattern=re.compile(r"Private-Lines: ?\d{1,4}"),
        gate=gate("private-lines:"),
        finds=(
            "PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\n{b64:64}\nPrivate-Lines: 1\n⟦{b64:48}⟧\nPrivate-MAC: {hex:64}\n",
        ),
        leaves=("Private-Lines: is followed by their number",),
        worst="Private-Lines: 1\nAAAA1AAAAAAA1AAAAAAAAAAAAAAAAA\n",
        validate=putty,
        is_anchored=True,
    ),
    Rule(
        name="private-jwk",
        kind="private-key",
        why="A JSON Web Key is public until it has d (or p, q, dp, dq, qi) or, when symmetric, k.",
        pattern=re.compile(r"""["'](?:d|p|q|dp|dq|qi|k)\\?["']\s{0,8}:\s{0,8}\\?["'](?P<s>[A-Za-z0-9_\-]{20,}+)"""),
        gate=gate("kty"),
        finds=(
            '{"kty":"OKP","crv":"Ed25519","x":"{url64:43}","d":"⟦{url64:43}⟧"}',
            '{"kty": "oct", "k": "⟦{url64:43}⟧", "alg": "A256CTR"}',
        ),
        leaves=('{"kty":"RSA","use":"sig","kid":"{alnum:8}","n":"{url64:342}","e":"AQAB"}',),
        worst='"kty":"d":"',
        validate=jwk,
    ),
    Rule(
        name="encoded-key",
        kind="private-key",
        why="age, Nostr, Bitcoin, Stellar and extended wallet keys: one line, with a checksum.",
        pattern=re.compile(
            START
            + r"(?P<s>AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{20,}+|AGE-PLUGIN-[A-Z0-9\-]{1,20}1[A-Z0-9]{20,}+|nsec1[a-z0-9]{40,}+|[xyztuvYZUV]prv[1-9A-HJ-NP-Za-km-z]{80,120}+|"
            r"untrusted comment: [a-z ]{0,30}secret key[^\n]{0,80}\n[A-Za-z0-9+/=]{60,}+|(?<![/+])RWR[A-Z][A-Za-z0-9+/]{100,}+={0,2}|ed25519:[1-9A-HJ-NP-Za-km-z]{86,90}|ed25519-secret:[A-Za-z0-9+/=]{40,}+|"
            r"PVT_(?:K1|R1|WA)_[1-9A-HJ-NP-Za-km-z]{45,60}|suiprivkey1[a-z0-9]{50,70}|edsk[1-9A-HJ-NP-Za-km-z]{50,94})(?![A-Za-z0-9])"
        ),
        gate=gate(
            "",
            "age-secret-key-",
            "age-plugin-",
            *(f"{kind}prv" for kind in "xyztuv"),
            "untrusted comment",
            "ed25519:",
            "ed25519-secret:",
            "pvt_",
            "nsec1",
            "rwr",
            "edsk",
            "suiprivkey1",
        ),
        finds=("age key: ⟦{bech32:AGE-SECRET-KEY-}⟧", "> ⟦AGE-SECRET-KEY-1{upper:58}⟧", "⟦{bech32:nsec}⟧"),
        leaves=("# public key: {bech32:age}", "{bech32:npub}", "ed25519:JDJLTAQFEW {b64:43}", "zpub{base58:107}"),
        worst="AGE-SECRET-KEY-1",
        is_anchored=True,
        validate=drawn_key,
    ),
    Rule(
        name="wif-key",
        kind="private-key",
        why="Bitcoin's wallet import format, which only its checksum tells from any other base 58.",
        pattern=re.compile(rf"(?P<s>[5KL9c]{STARTED}[1-9A-HJ-NP-Za-km-z]{{50,51}})(?![0-9A-Za-z])"),
        gate=gate("wif wallet btc bitcoin dumpprivkey importprivkey crypto private"),
        finds=(),
        leaves=("wallet 5Kxyz",),
        worst="5",
        validate=lambda match, text: (match.span("s"),) if is_base58check(match["s"]) else NOTHING,
    ),
)
