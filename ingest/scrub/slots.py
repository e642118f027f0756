"""Whether the value beside a name is a credential, by what the name promises and the sign between them says."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.names import Slot, slot_of
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.shapes import (
    INNER_SIGNS,
    UUID,
    is_noise,
    is_of_synapse,
    is_random,
    is_slug,
    is_technical,
    is_wordy,
    looks_chosen,
)
from ingest.scrub.values import Value

LETTERED: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+){3,9}")
FOUR_WORDS: Final = re.compile(r"[a-z]{4,10}(?:-[a-z]{4,10}){3,9}")
THREE_WORDS: Final = re.compile(r"[a-z]{3,10}(?:-[a-z]{3,10}){2}")
PHRASES: Final = ("passphrase", "psk", "PASSPHRASE", "PSK", "PASSWORD")
PHRASE: Final = re.compile(r"[a-zà-ž]{3,10}(?: [a-zà-ž]{3,10}){3,11}")
FUNCTION_WORDS: Final = frozenset(
    "the and for with not you your are was this that from have has will must can should when where then here them they see ask use set until next last week month time times only more than after before".split()
)
HASHED: Final = re.compile(
    r"\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2\w{0,2}|pbkdf2[\w\-]{0,12}|scrypt|bcrypt[\w\-]{0,8}|S|P|H|md5)\$|\{(?:S?SHA\d{0,3}|S?MD5|CRYPT|PBKDF2[\w\-]{0,10}|ARGON2|cipher|bcrypt)\}|"
    r"(?:sha\d{1,3}|md5|h1|blake\w{1,3})[:\-]|md5[0-9a-f]{32}$|pbkdf2[_:]|scrypt:|argon2|bcrypt[_$]|ENC[\[(]|!vault|\$ANSIBLE_VAULT|enc:|SCRAM-SHA|AQICAH|vault:v\d",
    re.I,
)
CRYPTED: Final = re.compile(r"(?:^|:)\$(?:1|2[abxy]|5|6|7|y|apr1|argon2\w{0,2})\$")
HASH_HEADS: Final = frozenset("${sSmMhHbBpPaAeEvV!")
PUBLIC_HEADS: Final = frozenset("PsSeanxyzpAM$!@#mt")
PUBLIC_VALUE: Final = re.compile(
    r"(?:AWS4-HMAC-SHA256$|A[KS]IA[A-Z0-9]{16}/\d{8}/|PVEAPIToken=|ssh-(?:rsa|ed25519|dss)|ecdsa-|sk-ssh-|age1|npub1|xpub|ypub|zpub|pk_(?:live|test)_|pk\.eyJ|AAAAB3Nza|AAAAC3Nza|AAAAE2Vj|MIGf|MIIBIjAN|MFkwEwYH|MCowBQYDK2V|\$[A-Za-z0-9_\-]{43}$|"
    r"[!@#][A-Za-z0-9._=/\-]{1,60}:[a-z0-9.\-]{3,80}$|mxc:|S-1-\d|Ag[AB][A-Za-z0-9+/]{100}|s\d{1,12}_\d|t\d{1,8}-\d{2,12}_)"
)
IDENTIFIER: Final = re.compile(r"[A-Za-z_]+\d?")
VARIABLE: Final = re.compile(
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|_{0,2}[A-Z]{0,4}[a-z]+(?:[A-Z]{1,4}[a-z]+){0,6}\d?|_{0,2}[a-z]+\d?(?:_[a-z]+\d?){1,6}"
)
TYPE_NAME: Final = re.compile("(?:Private|Public|Secret)Key")
NUMBER: Final = re.compile("0x[0-9a-fA-F]{1,16}")
FINGERPRINT: Final = re.compile("[0-9A-F]{40}|(?:[0-9A-F]{4} ?){10}")
"""Of a key of PGP, as changelogs name it. What is drawn in hex is in small letters."""
TURN: Final = re.compile("[a-z](?=[A-Z])")
ONE_PIECE: Final = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
DIGITS: Final = re.compile("[0-9]")
SPELLED: Final = re.compile("[A-Za-z]{4}")
NESTED: Final = re.compile(r"([A-Za-z_][\w.\-]{1,40}+)[=:]")
SETTING: Final = ("set", "with", "update", "change", "new", "p", "secret", "heslo")
"""How names begin that are given a password, not asked for one: `setPassword("…")`, `password("…")`."""
ADDRESS: Final = re.compile(r"[A-Za-z][\w.+\-]*@[\w.\-]+")
TOKENISH: Final = re.compile(r"[\w.+/=~\-:|!$%*^@#&?,;]+")


FIELDS: Final = frozenset(
    "user username userid uid login name host server port database data source driver provider encrypt timeout type mode version level length size min max id key value".split()
)
"""Names of fields, which have values of their own."""


def is_nested(text: str) -> bool:
    """`user=admin`: a name with a value of its own, not what was drawn with such a sign in it."""
    nested = NESTED.match(text)
    if nested and nested[1].istitle() and nested[1].lower() not in FIELDS and slot_of(nested[1]) is None:
        return False  # `Winter=1890`
    return nested is not None and (
        len(nested[1]) >= 3
        and all(VARIABLE.fullmatch(part) or part.isupper() for part in re.split(r"[.\-]", nested[1]))
    )


def is_credential(slot: Slot, value: Value, *, name: str, sign: str) -> bool:
    """`sign` is what stands between: `=`, `:`, `,`, `|`, `(`, ` ` or `is`, from the surest to the loosest."""
    text = value.text
    if len(text) < 3 or (not value.quoted and value.next in ("(", "[")):
        return False
    if sign == "(" and not value.quoted and value.next not in (")", "]"):
        return False  # the first of several arguments
    if is_of_synapse(text) or is_noise(text):
        return True
    if slot is not Slot.PASSWORD and not is_drawn(slot, value, name, sign):
        return False
    if (
        (text[0] in HASH_HEADS and HASHED.match(text))
        or ("$" in text and CRYPTED.search(text))
        or (text[0] in PUBLIC_HEADS and PUBLIC_VALUE.match(text))
    ):
        return False
    if is_placeholder(text, quoted=value.quoted):
        return False
    return slot is not Slot.PASSWORD or is_password(value, name, sign)


def is_drawn(slot: Slot, value: Value, name: str, sign: str) -> bool:
    """Long and varied enough for what the name promises."""
    text = value.text
    if "://" in text or (VARIABLE.fullmatch(text) and slot_of(text.rstrip("0123456789")) is not None):
        return False  # a variable, named like what it holds
    if (value.quoted or sign == "=") and " " not in text and is_noise(text, 16, 3):
        return not is_thing(value, name)
    if not TOKENISH.fullmatch(text) or (len(text) < 32 and (";" in text or is_technical(text))):
        return False
    if slot is Slot.UNKNOWN_KEY:
        good = is_key_beyond_doubt(text)
    elif slot is Slot.SECRET:
        good = is_random(text, 8) or looks_chosen(text, 8) or is_env_word(value, name, sign)
    elif slot is Slot.TOKEN:
        good = is_random(text, 12) and not is_slug(text)
    else:
        good = is_random(text, 16) and not is_slug(text) and ("/" not in text or not is_path(text))
        good = good or (sign == "=" and is_short_key(text))
    return (good or (sign in "=:" and is_well_chosen(value))) and not is_thing(value, name)


def is_short_key(text: str) -> bool:
    """Twelve letters of both cases and digits among them: `p1pZq3IAgRA9`."""
    return (
        text.isalnum()
        and is_random(text, 12)
        and text.lower() != text != text.upper()
        and len(DIGITS.findall(text)) > 1
        and not is_wordy(text)
        and slot_of(text) is None
    )


def is_well_chosen(value: Value) -> bool:
    """A password where a token or a key is expected, and nothing else: letters, digits and a sign, up to the line's end."""
    text = value.text
    return (
        value.is_last
        and looks_chosen(text, 8)
        and not INNER_SIGNS.isdisjoint(text)
        and bool(DIGITS.search(text))
        and text.lower() != text != text.upper()
        and bool(SPELLED.search(text))
    )


def is_thing(value: Value, name: str) -> bool:
    """A type, a number, a list, a fingerprint, or what is named like the name beside it: code, and no secret."""
    text = value.text
    if TYPE_NAME.search(text) or (len(name) > 5 and name.lower() in text.lower()) or text.endswith(f".{name}"):
        return True
    if text.isidentifier() and text.count("_") > 1 and not DIGITS.search(text):
        return True
    if not value.quoted and (text.count(",") > 1 or NUMBER.fullmatch(text)):
        return True
    return bool(FINGERPRINT.fullmatch(text)) and name.lower().endswith("key")


def is_key_beyond_doubt(text: str) -> bool:
    """Base 64 of 20 or more characters in one piece, with both cases and digits; hex may be a digest."""
    return (
        bool(ONE_PIECE.fullmatch(text))
        and text.lower() != text != text.upper()
        and len(DIGITS.findall(text)) >= 2
        and not is_wordy(text)
        and is_random(text, 20)
    )


def is_path(text: str) -> bool:
    parts = text.split("/")
    return all(part.isalpha() or is_wordy(part) or not part for part in parts)


def is_env_word(value: Value, name: str, sign: str) -> bool:
    """`SESSION_SECRET=kocourek`: a plain word, where the name and the sign leave no doubt that it is a value."""
    text = value.text
    if sign == "=" and name.isupper() and FOUR_WORDS.fullmatch(text):
        return value.is_last and all(slot_of(part) is None for part in text.split("-"))
    return (
        sign == "="
        and text.isalpha()
        and text.islower()
        and len(text) >= 5
        and slot_of(text) is None
        and (name.isupper() or value.quoted)
        and value.is_last
    )


def is_password(value: Value, name: str, sign: str) -> bool:
    text = value.text
    if value.quoted:
        return is_quoted_password(value, name, sign)
    if UUID.fullmatch(text) and sign not in ("=", ":", "|", "is"):
        return False
    if looks_chosen(text, 5 if sign in "=:" else 6):
        return not is_reference_name(text) and not (sign not in "=:" and is_slug(text) and not text[-1].isdigit())
    if LETTERED.fullmatch(text) or (sign == "=" and THREE_WORDS.fullmatch(text) and name.endswith(PHRASES)):
        parts = text.split("-")
        is_told = sign in "=:|" or (sign == "is" and len(parts) > 3 and FUNCTION_WORDS.isdisjoint(parts))
        return is_told and value.is_last and not any(len(part) < 3 for part in parts)
    if text.isdigit():
        return sign in "=:" and 6 <= len(text) <= 32 and name.lower() not in ("pass", "pw")
    if is_random(text, 12) or (sign in "=:" and value.is_last and is_jumble(text)):
        return True
    return is_plain_word(value, name, sign)


def is_jumble(text: str) -> bool:
    """Eight or more letters with capitals among them that part no words: `QFxWsGOu`."""
    return (
        len(text) >= 8
        and text.isalpha()
        and len(TURN.findall(text)) > 1
        and not is_wordy(text)
        and slot_of(text) is None
    )


def is_reference_name(text: str) -> bool:
    """`db_password1`, `PASS_2`, `newPassword2`: a variable, named like what it holds, and not by chance."""
    if (
        text.isalnum()
        and len(DIGITS.findall(text)) > 1
        and text.lower() != text != text.upper()
        and is_random(text, 12)
    ):
        return False
    return bool(re.fullmatch(r"[A-Za-z_]\w*", text)) and slot_of(text.rstrip("0123456789")) is not None


def is_quoted_password(value: Value, name: str, sign: str) -> bool:
    text = value.text
    if " " in text or "\t" in text:
        words = text.split()
        if PHRASE.fullmatch(text):
            return not FUNCTION_WORDS & set(words) and any(
                part in name.lower() for part in ("phrase", "psk", "mnemonic", "seed")
            )
        return (
            sign in "=:"
            and len(words) <= 4
            and any(looks_chosen(word) for word in words)
            and not any(len(w) > 2 and w.isalpha() and w.islower() for w in words)
        )
    if sign == "(" and not name.lower().startswith(SETTING):
        return looks_chosen(text, 6)  # what somebody is asked for is no answer
    if sign in ",|":
        return (
            not ADDRESS.fullmatch(text)
            and (not IDENTIFIER.fullmatch(text) or is_random(text, 10))
            and (looks_chosen(text, 6) or is_random(text, 12))
        )
    if text.isdigit():
        return sign in "=:" and 6 <= len(text) <= 32
    if slot_of(text) is not None or is_technical(text) or not any(c.isalnum() for c in text):
        return False
    if sign in "=:":
        is_label = text[0].isupper() and text.isalpha() and not is_random(text, 10)
        return len(text) >= 4 and (not is_label or sign == "=")
    return len(text) >= 5


def is_plain_word(value: Value, name: str, sign: str) -> bool:
    """A bare word is a password only where a configuration says so: `DB_PASSWORD=watermelon` up to the end of the line."""
    text = value.text
    if (
        text.lower() in name.lower()
        or not text.isalpha()
        or not 4 <= len(text) <= 40
        or slot_of(text) is not None
        or value.next in tuple("),.(")
    ):
        return False
    if not value.is_last and not (sign == "=" and name.isupper() and "_" in name):
        return False
    if sign == "=":
        return text.islower() or name.isupper()
    return sign == ":" and name.isupper() and "_" in name
