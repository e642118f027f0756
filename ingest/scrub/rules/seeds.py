"""Seeds: of second factors, and of wallets in words."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder

LENGTHS: Final = frozenset((12, 15, 18, 21, 24, 25))
FUNCTION_WORDS: Final = frozenset(
    "the and is are was were of to in at as be has have had we our your my his her their its for with from not or if then than when which must should would could".split()
)


def seeds(match: re.Match[str], text: str) -> Spans:
    """The first seed that follows on the line, within reach of the words that say so."""
    low = match.string
    line_end = low.find("\n", match.end(), match.end() + REACH)
    found = SEED.search(low, match.end(), line_end if line_end >= 0 else match.end() + REACH)
    if not found:
        return NOTHING
    value = text[found.start() : found.end()]
    compact = "".join(value.replace("-", " ").split())
    if is_placeholder(compact, quoted=True) or not (compact.isupper() or compact.islower()) or len(set(compact)) < 7:
        return NOTHING
    return (found.span(),)


def phrase(match: re.Match[str], text: str) -> Spans:
    """All the words, or those of the first line where the next one is a sentence again."""
    start, end = match.span("s")
    first = start + len(match.string[start:end].splitlines()[0].rstrip())
    is_stray = len(match.string[first:end].split()) < STRAY
    for last in (first, end) if is_stray else (end, first):
        words = re.findall(r"[^\W\d_]+", match.string[start:last])
        if len(words) in LENGTHS and len(set(words)) >= len(words) - 3 and not FUNCTION_WORDS & set(words):
            return ((start, last),)
    return NOTHING


def codes(match: re.Match[str], text: str) -> Spans:
    """Each code of the list. One of letters alone is one beside others, or where no word is like it."""
    found = list(CODE.finditer(match.string, *match.span("s")))
    has_digits = any(DIGIT.search(code[0]) for code in found)
    return tuple(
        code.span()
        for code in found
        if not is_placeholder(code[0], quoted=True)
        and not DATE.fullmatch(code[0])
        and (has_digits or any(UNSPOKEN.search(group) for group in code[0].split("-")))
    )


ONE_CODE: Final = (
    r"(?:\d{4}[ ]?\d{4}|[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){1,3}|(?=[a-f]{0,9}\d)[a-f0-9]{8,10})(?![a-z0-9\-])"
)
CODE: Final = re.compile(ONE_CODE)
DIGIT: Final = re.compile("[0-9]")
DATE: Final = re.compile(r"\d{4}-\d{2,4}(?:-\d{2,4})?")
UNSPOKEN: Final = re.compile("[^aeiouyáéíóúůýěäöü0-9]{3}")
REACH: Final = 160
AHEAD: Final = (
    rf"(?=[^\n2-7]{{0,{REACH}}}[2-7])(?=[^\n]{{0,{REACH}}}?(?:[a-z2-7]{{4}}[ \-][a-z2-7]{{4}}[ \-]|[a-z2-7]{{16}}))"
)
"""What a seed at least looks like, so that most places are passed over without a closer look."""
SEED: Final = re.compile(
    r"(?<![\w/.+\-=])(?:(?=[a-z \-]{0,24}[2-7])[a-z2-7]{4}(?:[ \-][a-z2-7]{4}){3,15}+|(?=[a-z]{0,30}[2-7])[a-z2-7]{16,64}+)(?![\w/+=])"
)
CONTEXT: Final = r"(?:2fa|two[- ]factor|(?<![a-z])(?:mfa|otp)|totp|authenticator|oathtool|google[ _-]?auth\w*|setup key|second factor|druhý faktor|dvoufaktor\w*|zwei-faktor\w*|doble factor|base32)"

COMMON: Final = frozenset(
    "must have more than with this that when what your from will then they were been only also just like need make sure each code word user name file here into over such some time used "
    "uses does show open click next page mail real test four five words long".split()
)


def grouped(match: re.Match[str], text: str) -> Spans:
    """Groups of four that are no words of a sentence."""
    start, end = match.span("s")
    words = re.split("[ -]", match.string[start:end])
    if COMMON.intersection(words) or len(set(words)) < 3 or is_placeholder("".join(words), quoted=True):
        return NOTHING
    return ((start, end),)


APPS: Final = ("app", "app specific", "app-specific", "application", "application-specific")
STRAY: Final = 6
"""Fewer words in the lines below are a sentence that follows."""
BACKUPS: Final = (
    "recovery backup emergency scratch záložní obnovovací wiederherstellungs notfall récupération recuperación".split()
)

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="totp-secret",
        kind="totp-secret",
        why="Seeds of second factors are base 32, often in groups of four, and named by what they are for.",
        pattern=re.compile(CONTEXT + AHEAD),
        gate=gate(
            "2fa two-factor mfa totp otp authenticator oathtool googleauth google_auth google-auth dvoufaktor zwei-faktor base32",
            "two factor",
            "google auth",
            "setup key",
            "second factor",
            "druhý faktor",
            "doble factor",
        ),
        is_anchored=True,
        is_nested=True,
        finds=(
            "2FA secret: ⟦{lower32:4} {lower32:4} {lower32:4} 2{lower32:3}⟧",
            "the setup key for the authenticator app is ⟦{base32:25}7⟧",
            "oathtool --totp -b ⟦{base32:25}2⟧",
        ),
        leaves=(
            "2FA is required, open your authenticator app first",
            "otp: 6 digits that last 30 seconds",
            "google-authenticator-libpam-and-friends",
        ),
        is_closed=False,
        worst="totp 2 ",
        validate=seeds,
        is_folded=True,
    ),
    Rule(
        name="seed-phrase",
        kind="seed-phrase",
        why="12 to 24 words open a wallet; no checksum without the word list, so the words around it decide.",
        pattern=re.compile(
            r"(?:seed|mnemonic|recovery phrase|secret phrase|recovery words|backup phrase|wallet|bip-?39|obnovovac\w+ (?:fráz\w+|slova)|wiederherstellungsphrase|frase (?:semilla|de recuperación)|phrase de récupération|seed-?fráz\w+)[^\n]{0,60}?(?:[:=\n]|is|je|ist|es|est)[\s\"'`>]{1,6}"
            r"(?P<s>(?:\d{1,2}[.)]?[ \t]*)?[a-z]{3,8}(?:(?:[ ,]{1,2}|[ \t]*\r?\n[> ]{0,4})(?:\d{1,2}[.):]?[ \t]*)?[a-z]{3,8}){11,24}+)(?![a-z])"
        ),
        gate=gate(
            "seed mnemonic wallet bip39 bip-39 obnovovac wiederherstellungsphrase",
            "recovery phrase",
            "secret phrase",
            "recovery words",
            "backup phrase",
            "frase semilla",
            "frase de recuperación",
            "phrase de récupération",
        ),
        is_anchored=True,
        is_nested=True,
        finds=("seed phrase: ⟦{seed:12}⟧", "my wallet mnemonic is\n⟦{seed:24}⟧"),
        leaves=(
            "seed phrase: write it down and never show it to anybody who asks for it",
            "the wallet is not in the index of the words that we have used for all",
        ),
        is_closed=False,
        worst="seed: aaa ",
        validate=phrase,
        is_folded=True,
    ),
    Rule(
        name="app-password",
        kind="password",
        why="Passwords that Google, WordPress and Apple draw for one program: groups of four.",
        pattern=re.compile(
            r"app(?:lication)?(?:[ \-]specific)?[ _\-]?(?:password|passwort|heslo)[^\n]{0,24}?(?<![a-z0-9])(?P<s>(?:[a-z0-9]{4}[ ]){3}(?:[a-z0-9]{4}[ ][a-z0-9]{4}[ ])?[a-z0-9]{4}|(?:[a-z]{4}-){3}[a-z]{4})(?![a-z0-9])"
        ),
        gate=gate(
            "", *(f"{app}{gap}{word}" for app in APPS for gap in (" ", "_", "-", "") for word in ("passwor", "heslo"))
        ),
        finds=(
            "app password: ⟦{letters:4} {letters:4} {letters:4} {letters:4}⟧",
            "WP application password is ⟦{alnum:4} {alnum:4} {alnum:4} {alnum:4} {alnum:4} {alnum:4}⟧",
        ),
        leaves=("an app password must have more than four words", "app passwords: xxxx xxxx xxxx xxxx"),
        worst="app password ",
        validate=grouped,
        is_anchored=True,
        is_folded=True,
        is_nested=True,
    ),
    Rule(
        name="disk-recovery-key",
        kind="recovery-key",
        why="BitLocker prints eight groups of six digits.",
        pattern=re.compile(r"-(?<=(?<![\d\-])\d{6}-)(?:\d{6}-){6}\d{6}(?![\d\-])"),
        gate=gate("bitlocker recovery obnov wiederherst récup recuper"),
        finds=(
            "BitLocker recovery key: ⟦{digits:6}-{digits:6}-{digits:6}-{digits:6}-{digits:6}-{digits:6}-{digits:6}-{digits:6}⟧",
        ),
        leaves=("the recovery key has eight groups of six digits", "recovery id {uuid}"),
        worst="123456-",
        validate=lambda match, text: ((match.start() - 6, match.end()),),
    ),
    Rule(
        name="network-identity",
        kind="private-key",
        why="identity.secret of ZeroTier: address, kind, public half and private half.",
        pattern=re.compile(r":0:[0-9a-f]{128}:(?P<s>[0-9a-f]{128})(?![0-9a-f])"),
        gate=gate(":0:"),
        finds=("{hex:10}:0:{hex:128}:⟦{hex:128}⟧",),
        leaves=("{hex:10}:0:{hex:128}", "10:0:00"),
        worst=":0:aaaa",
        is_anchored=True,
    ),
    Rule(
        name="recovery-codes",
        kind="recovery-code",
        why="Backup codes stand in for the second factor.",
        pattern=re.compile(
            rf"(?:{'|'.join(BACKUPS)})[ \-]?(?:codes?|kód[y]?|cod(?:es|igos)?)\b[^\n]{{0,40}}?(?:(?P<sign>[:=]|\bis|\bare|\bje|\bjsou)[ \t]{{0,4}}|(?<=[ \t])(?=[^\n]{{0,12}}\d)|(?=\r?\n))(?:\r?\n){{0,2}}"
            rf"(?P<s>(?:[ \t>*\-`]{{0,6}}(?:\d{{1,2}}[.)][ ])?{ONE_CODE}(?:[ ,;\t`]{{0,3}}\r?\n?)){{1,24}}+)"
        ),
        gate=gate(
            "", *(f"{backup}{gap}{code}" for backup in BACKUPS for gap in ("", " ", "-") for code in ("cod", "kód"))
        ),
        is_anchored=True,
        is_nested=True,
        finds=(
            "recovery codes: ⟦k{lower:4}-b{lower:4}⟧",
            "backup code ⟦{digits:8}⟧",
            "záložní kódy:\n⟦{digits:8}⟧\n⟦{digits:8}⟧",
            "recovery codes:\n- ⟦{lower:5}-{letters:5}⟧\n- ⟦k{letters:3}t-{letters:4}7⟧",
            "backup codes: ⟦3{hex:9}⟧ ⟦{hex:9}7⟧",
        ),
        leaves=(
            "keep your recovery codes in a safe place",
            "backup code is in src/backup.py",
            "backup codes: 10 of them",
            "recovery codes: never-share",
            "recovery codes are one-time, keep-safe values",
        ),
        is_closed=False,
        worst="backup code ",
        validate=codes,
        is_folded=True,
    ),
)
