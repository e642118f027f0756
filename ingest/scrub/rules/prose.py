"""Sentences that tell a password or a token, in the languages that communities write in.

A sentence is talk about passwords far more often than it holds one, so the value has to look chosen or drawn, or to be
quoted right after the verb.
"""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from itertools import pairwise
from typing import Final

from ingest.scrub.keywords import KeyName
from ingest.scrub.model import NOTHING, NameRule, Rule, Spans
from ingest.scrub.names import Slot
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.shapes import INNER_SIGNS, is_random, is_technical, is_wordy, looks_chosen
from ingest.scrub.slots import FOUR_WORDS, is_credential, is_jumble, is_key_beyond_doubt, is_nested
from ingest.scrub.values import Value, read_value, whole
from ingest.scrub.vocabulary import PUBLIC_ENDS
from ingest.scrub.words import any_of

VERBS: Final = any_of(
    [
        *"""
    is was are became becomes equals reads now it's its to as je bylo byla byly byl bude jsou zní na mám máme máš
    si ist war lautet wäre sind heißt heisst auf wurde es era será son a est était sera c'est è é sarà foi jest
    było była był będzie brzmi är er var blev on oli van wordt luidt este sunt olan olarak это будет теперь є був e
    jeste は が 是 为 為 은 는 이 가 là adalah ialah sea seria remains stays bleibt blieb zůstává zůstalo zůstane zostáva zostaje pozostaje rimane queda остаётся остается остался
    """.split(),
        "will be",
        "should be",
        "has been",
        "set to",
        "changed to",
        "reset to",
    ]
)
FILL: Final = r"(?:[ \t\u00a0]{1,12}[(\[\"'“„]?[^\s:=|\"`<>.!?;,‹›()]{1,24}[)\]\"'”“]?,?){0,7}?"
IN_HOST: Final = r"[^\s:=|\"`<>.!?;,‹›()]"
FOR_HOST: Final = re.compile(
    rf"[ ](?:for|to|on|at|of|pro|na|ke?|für|auf|zu|von|от|для|на)[ ](?:{IN_HOST}{{1,40}}\.){{1,4}}{IN_HOST}{{1,40}}(?=[ ]?[:=→–—]|[ ](?:-|{VERBS})[ ])"
)
"""`for jana@example.org`, `pro 10.0.0.5`: the only words with a full stop inside that are passed over."""
BLANKS: Final = r"[ \t\u00a0]{1,12}"
FENCE: Final = r"(?:```[a-z]{0,10}\r?\n(?=[^\s`]{5,200}[ \t]{0,12}(?:\r?\n|$)))?"
"""Of a block of code whose first line is one word."""
TELLING: Final = re.compile(
    rf"(?P<fill>{FILL})(?:{BLANKS}(?P<verb>{VERBS})(?::|,)?(?=[ \t\u00a0\r\n])|(?P<colon>[ \t]?(?::|：|=|→|->|–|—|-)(?=[\s„“\"'`*])|：)|(?P<glued>(?:は|が|是|为|為|은|는|이|가)[ \t]?[:：]?))(?:{BLANKS})?(?:\r?\n[ \t]{{0,4}}){{0,2}}{FENCE}"
    rf"(?P<more>(?:(?:now|currently|still|just|simply|again|this|the following|the same|set to|changed to|to|teď|nyní|zatím|jetzt|ab sofort|nun|ahora|maintenant|ora|agora|teraz|nu|теперь|сейчас|:)[ :]{{1,4}}){{0,2}})",
)
OPENER: Final = r"(?=[\"'`„“«*\w#%^&!~+@])"
ADJACENT: Final = re.compile(
    rf"[ \t]{{1,12}}{OPENER}|[ \t]{{0,12}}(?:\r?\n[>+]?[ \t]{{0,2}}){{1,2}}{FENCE}[ \t>]{{0,6}}(?=[^\s>+]\S*[ \t]{{0,12}}(?:\r?\n|$))"
)
OPENED: Final = re.compile(
    r"[ ](?:for|to|of|pro|ke?|na|do|od|für|von|vom|zum|zur|от|для|к|на|до|od|pour|du|de|del|para|di)(?:[ ](?:the|our|my|den|die|das|dem|der|naši|náš|el|la|le))?"
    rf"(?:[ ][^\W\d_][^\W\d_]{{1,20}}){{1,2}}?[ ]{OPENER}"
)
"""What the password opens, where no verb follows: `пароль от сервера`, `heslo k databázi`."""
OPENED_BEFORE: Final = re.compile(
    r"[ ](?:for|to|of|pro|ke?|na|do|od|für|von|vom|zum|zur|от|для|к|на|до|pour|du|de|del|para|di)(?:[ ][^\W\d_]{2,20}){1,2}$"
)
APPOSED: Final = re.compile(rf",[ ]{OPENER}")
LOGIN_BEFORE: Final = re.compile(
    r"(?<![^\W_])(?:user(?:name)?|log(?:in)?|admin|root|account|jméno|uživatel\w{0,3}|přihl\w{1,8}|benutzer(?:name)?|nutzer|usuario|utilisateur|логин)(?![^\W_])[^\n]{0,40}$"
    r"|(?<![^\W_])(?:use|using|try|with|enter|type|použij|zkus|zadej|mit|nimm|nutze|verwende|gib)[ ](?:[^\W\d_]{1,8}[ ])?$"
)
LOOSE_VERBS: Final = frozenset("a e on to as na auf si son sea van var er zu now set".split())
"""Words that say "is" in one language, or "to" as in "set to", and anything at all in another."""
OF_ANOTHER: Final = re.compile(
    rf"[ ]{any_of(sorted(part for part in PUBLIC_ENDS if len(part) > 3 or part == 'id'))}(?![\w-])"
)
"""`password hash`, `password reset`: the sentence is about something else that has the key word in its name."""
PLAIN_VERBS: Final = frozenset(
    (*"is was je ist lautet es est è é jest är это は が 是 bylo był".split(), None, "should be", "will be", "to")
)
BARE_NAMES: Final = frozenset("pass token key secret seed".split())
BLANK: Final = frozenset(" \t\r\n\u00a0")
FAR: Final = 240
PROMISING: Final = re.compile(r"[0-9\"'`„“”«‚‘!@#$%^&*+=~?]|-(?<=[A-Za-z]-)(?=[A-Za-z])")
"""A value in a sentence has a digit, a sign or a quote, which most sentences have not."""
ODD_WORD: Final = re.compile(
    r"[ ][a-z]{16}|[ ][A-Za-z]{0,16}?[a-z][A-Z][A-Za-z]{0,16}?[a-z][A-Z][A-Za-z]{0,40}+(?![\w(.])"
)
NEAR: Final = 48
PASSWORD: Final = Slot.PASSWORD
UNKNOWN_KEY: Final = Slot.UNKNOWN_KEY
CONTENDERS: Final = 6


def sentence(key: KeyName, text: str, low: str) -> Spans:
    """The first value after the name that a verb or a sign presents and that is one."""
    end, slot = key.end, key.slot
    if slot is UNKNOWN_KEY:
        return NOTHING
    if (text[end : end + 1] == "=" and text[end + 1 : end + 2] not in BLANK) or not (
        PROMISING.search(text, end, end + FAR) or (slot is PASSWORD and ODD_WORD.search(text, end, end + NEAR))
    ):
        return told_phrase(key, text, low)
    if key.start and text[key.start - 1] in "<{[":
        return NOTHING  # stands for a value itself: `<password>`
    if text[end : end + 2] in ("'s", "’s"):
        end += 2
        value = read_value(text, end + 1) if text[end : end + 1] == " " else None
        if value and tells(key, value, is_sure=not value.quoted, says_is=False):
            return (whole(value, text, key.slot),)
    end += len(CLOSED.match(text, end)[0])  # type: ignore[index]  # matches nothing as well
    is_bare = key.name.lower() in BARE_NAMES
    if text[end : end + 1] == " " and (host := FOR_HOST.match(low, end)):
        end = host.end()
    at = end
    for _ in range(CONTENDERS):
        told = TELLING.match(low, at)
        if not told:
            break
        if at == end and OF_ANOTHER.match(told["fill"]):
            return NOTHING
        verb = told["verb"]
        is_loose = verb in LOOSE_VERBS and (is_bare or at > end or told["fill"].count(" ") > 4)
        is_sure = (bool(verb) and not is_loose) or (not told["fill"] and not is_loose)
        value = read_value(text, told.end())
        if value and told["colon"] and value.is_last and OPENED_BEFORE.match(told["fill"]):
            is_sure = is_sure or is_numbered_word(value.text)
        if value and tells(key, value, is_sure=is_sure, says_is=not is_bare and verb in PLAIN_VERBS):
            return (whole(value, text, key.slot),)
        if value and not told["fill"] and verb in PLAIN_VERBS and is_told_number(key, value):
            return (whole(value, text, key.slot),)
        further = told.end("verb") if verb else told.end()
        if further <= at:
            break
        at = further
    return (
        told_phrase(key, text, low) or adjacent(key, text, low, is_verb=is_bare) or opened(key, text, is_verb=is_bare)
    )


def told_phrase(key: KeyName, text: str, low: str) -> Spans:
    """`the passphrase is winter velvet anchor garden`: words, and nothing but words, up to the end of the line."""
    if not key.name.lower().endswith(("phrase", "mnemonic")):
        return NOTHING
    told = PHRASE.search(low, key.end, key.end + FAR)
    if not told or FUNCTION_WORDS & set(told["s"].split()) or "\n" in low[key.end : told.start()]:
        return NOTHING
    return (told.span("s"),)


def tells(key: KeyName, value: Value, *, is_sure: bool, says_is: bool) -> bool:
    """`is_sure`: nothing else can stand there. `says_is`: after such a verb a quoted plain word will do."""
    if is_nested(value.text) or not is_credential(key.slot, value, name=key.name, sign="is"):
        return False
    text = value.text
    if key.slot is not Slot.PASSWORD:
        return is_random(text, 16) and "://" not in text
    if value.quoted:
        is_word = len(text) >= 5 and text.isalpha() and text.islower() and value.next != "-"
        return is_sure and (
            looks_chosen(text, 5) or (says_is and is_word) or is_jumble(text) or bool(FOUR_WORDS.fullmatch(text))
        )
    if is_key_beyond_doubt(text) and text.count("/") <= 1 + len(text) // 20:
        return True
    if any(c in text for c in "/{}()") or not (is_sure or is_strong(text) or is_random(text, 12)):
        return False
    if text.replace("_", "").isalpha() and key.name.lower() == "pass":
        return False  # what somebody passes to a function
    numbered = NUMBERED.fullmatch(text)
    if not numbered or text.count("-") >= 2 or len(numbered["digits"]) >= 3:
        return True
    return is_random(text, 12) and not is_wordy(text)


def is_told_number(key: KeyName, value: Value) -> bool:
    """`the password is 748201`: nothing between, nothing after, and no number that people make up as an example."""
    return (
        key.slot is Slot.PASSWORD
        and value.text.isdigit()
        and 5 <= len(value.text) <= 16
        and value.is_last
        and key.name.lower() not in BARE_NAMES
        and not is_placeholder(value.text, quoted=value.quoted)
    )


PHRASE: Final = re.compile(
    r"(?:\b(?:is|was|je|ist|es|est|jest|è|é)\b|[:=])[ \t]{0,4}(?:\r?\n[ \t]{0,4})?[\"'`„“*]{0,2}(?P<s>[a-zà-ž]{3,10}(?:[ ][a-zà-ž]{3,10}){3,11}+)(?=[\"'`“”*.]{0,2}[ \t]{0,4}(?:\r?\n|$))"
)
FUNCTION_WORDS: Final = frozenset(
    "the and for with not you your are was this that from have has will must can should when where then here them they see ask use set must may now just only very too".split()
)
CLOSED: Final = re.compile(r"[*_\"'`)”\]]{0,4}+")
NUMBERED: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]*?)*(?P<digits>[0-9]*)")
"""`RFC-1234`, `Winter-1890`: a name with a number, unless the sentence leaves no doubt."""


def is_strong(text: str) -> bool:
    """Letters with digits and a sign or both cases: no ordinary word is like that."""
    has_digit = any(c.isdigit() for c in text)
    mixed = any(c.isupper() for c in text[1:]) and any(c.islower() for c in text)
    sign = any(c in INNER_SIGNS or c in "._-" for c in text)
    return len(text) >= 7 and has_digit and (mixed or sign or text.count("-") >= 2) and not is_technical(text)


def opened(key: KeyName, text: str, *, is_verb: bool) -> Spans:
    """`heslo k databázi X`, `the default password, X, still works`: only what no name of a host or thing is like."""
    if key.slot is not Slot.PASSWORD or text[key.end : key.end + 1] not in (" ", ",") or is_verb:
        return NOTHING
    is_apposed = text[key.end] == ","
    gap = (APPOSED if is_apposed else OPENED).match(text, key.end)
    value = read_value(text, gap.end()) if gap else None
    if not value or is_nested(value.text) or any(c in value.text for c in "/(:\\") or HOST.fullmatch(value.text):
        return NOTHING
    if is_apposed and text[value.end : value.close + 1].strip("\"'`”") != ",":
        return NOTHING
    good = is_strong(value.text) or is_unspoken(value.text)
    return (whole(value, text, key.slot),) if good and is_credential(key.slot, value, name="", sign="is") else NOTHING


CLUSTER: Final = re.compile("[bcdfghjklmnpqrstvwxz]{4}", re.I)
HOST: Final = re.compile(r"[a-z0-9]+(?:[.\-_][a-z0-9]+)+|[A-Z0-9]+(?:[.\-_][A-Z0-9]+)+")


def is_unspoken(text: str) -> bool:
    """Letters and digits that alternate, or both cases: nobody's word, name or number."""
    if not text.isalnum() or len(text) < 10 or is_technical(text):
        return False
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(text))
    return (
        turns > 3
        or (turns > 1 and bool(CLUSTER.search(text)))
        or (text.lower() != text != text.upper() and is_random(text, 12))
    )


def adjacent(key: KeyName, text: str, low: str, *, is_verb: bool) -> Spans:
    """`password "falcon-harbor-51" works`, `with password R0cket.99`: no verb at all, so the value has to be strong."""
    slot, end = key.slot, key.end
    gap = ADJACENT.match(text, end)
    if gap and "\n" in gap[0] and key.start and text[key.start - 1] in '+/,;\t"':
        return NOTHING  # a key word that chance has put into base 64, or the last name of a row of names
    if gap and "\n" in gap[0] and slot is not Slot.PASSWORD:
        value = read_value(text, gap.end())
        good = value and value.is_last and is_random(value.text, 20) and any(c.isdigit() for c in value.text)
        return (
            (whole(value, text, slot),)
            if value and good and is_credential(slot, value, name="", sign="is")
            else NOTHING
        )
    if not gap or slot is not Slot.PASSWORD or ("\n" in gap[0] and is_verb):
        return NOTHING
    value = read_value(text, gap.end())
    if not value or ("\n" in gap[0] and not value.quoted and not value.is_last):
        return NOTHING
    if value.quoted:
        is_argument = is_verb and value.text.isidentifier() and sum(map(str.isdigit, value.text)) < 2
        good = looks_chosen(value.text, 6) and not is_argument
    else:
        good = stands_alone(key, value.text, low, is_verb=is_verb)
    if not good or is_nested(value.text) or "/" in value.text or "(" in value.text:
        return NOTHING
    return (whole(value, text, slot),) if is_credential(slot, value, name="", sign="is") else NOTHING


def stands_alone(key: KeyName, value: str, low: str, *, is_verb: bool) -> bool:
    """What is right beside a name, and looks like nothing but a password."""
    if is_strong(value) or is_unspoken(value):
        digits = sum(map(str.isdigit, value))
        is_argument = is_verb and value.isidentifier()
        is_option = value.count("-") < 2 and bool(HOST.fullmatch(value))
        return digits > 1 or not (is_argument or is_option)  # `pass asn1Spec`, `password prefer-ipv4`
    return is_numbered_word(value) and bool(LOGIN_BEFORE.search(low, max(0, key.start - 60), key.start))


def is_numbered_word(text: str) -> bool:
    """`Winter2019`: a password beside the name of a user, a year or a place elsewhere."""
    return looks_chosen(text, 8) and sum(map(str.isdigit, text)) >= 3


RULES: Final[tuple[Rule | NameRule, ...]] = (
    NameRule(
        name="told-in-a-sentence",
        why="People tell passwords in sentences: the key word, some words about what it opens, a verb, the value.",
        finds=(
            "the password is ⟦{chosen}⟧",
            "heslo k tomu je ⟦{lower:15}7⟧, nikomu ho nedávej",
            "Das Passwort für die Datenbank lautet ⟦{chosen}⟧",
            "I set the root password to ⟦{alnum:20}⟧",
            "password for the NAS is now ⟦{chosen}⟧",
            "la clave del servidor es ⟦{diceware:3}-76⟧",
            'the password is "⟦{weak}⟧", all lower case',
            "le mot de passe est ⟦{chosen}⟧",
            "hasło to ⟦{chosen}⟧",
            "пароль от сервера: ⟦{chosen}⟧",
            "heslo k wifi: ⟦{chosen}⟧",
            "password's ⟦{chosen}⟧ fyi",
            'password "⟦{diceware:3}-51⟧" works for me',
            "Hier der neue API key: ⟦{hex:32}⟧",
            "El token de API es ⟦{alnum:40}⟧, bórralo",
            "the setup key for the authenticator app is ⟦{base32:26}⟧",
            "パスワードは ⟦{chosen}⟧ です",
            "a senha é ⟦{chosen}⟧",
            "the password is ⟦{b64:32}7aB⟧",
            "the password is ⟦748{digits:3}⟧",
            "the password is ⟦{uuid}⟧, keep it",
            "the password is `⟦{diceware:4}⟧`",
            "new password:\n```\n⟦{alnum:16}⟧\n```",
            "access token\n```\n⟦{alnum:40}⟧\n```",
        ),
        leaves=(
            "the password is wrong",
            "heslo k wifi je na lednici",
            "the token is invalid or has been revoked",
            "is the password case-sensitive?",
            "das Passwort ist das gleiche wie letztes Jahr",
            "la clave es la paciencia",
            "we use argon2id for password hashing",
            "the password is stored in the vault, ask Jana",
            "the key is to keep the queue short",
            "the password must be 12 characters",
            "password is sha256-hashed",
            "pass the token as a query parameter",
            "the password is 123456",
            "the password hash is {b64:43}=",
            "the password reset request id is {uuid}",
            "the password iteration count is 600000",
            "the password is valid-for-one-more-week",
            "reset your password\n```\nregister_new_matrix_user -c homeserver.yaml\n```",
            "password:\n```json\n{}\n```",
        ),
        worst="password is ",
        find=sentence,
    ),
)
