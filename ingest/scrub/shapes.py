"""How a value looks: chosen by a person, drawn by a machine, or plain words. Never a verdict alone, only in a slot."""

import math
import re
from collections import Counter
from typing import Final

UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
HEX: Final = re.compile(r"(?:0x)?[0-9a-f]+", re.I)
CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
UNSPEAKABLE: Final = re.compile(r"^[^aeiouy]+$|[^aeiouy]{5}", re.I)
SPOKEN: Final = re.compile(r"[A-Z]?[a-z]{4,}")
CLUSTER: Final = re.compile(r"[^aeiouy]{4}|^[^aeiouy]+$", re.I)
CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{4,}", re.I)
LETTERS: Final = re.compile(r"[^\W\d_]+")
DIGITS: Final = re.compile("[0-9]").findall
INNER_SIGNS: Final = frozenset("!@#$%^&*+=?~")

ON_KEYBOARD: Final = re.compile(r"(?!.*://)[\x20\x21\x23-\x26\x28-\x5b\x5d-\x7e]+")
"""All that is printed, without quotes and backslashes; no address."""
SIGNS: Final = re.compile("[^A-Za-z0-9 ]")
STRONG_SIGNS: Final = re.compile(r"[^A-Za-z0-9 .,:/_-]")
"""Those that join no parts of names."""
RUNS: Final = re.compile("[A-Z]?[a-z]{3,}|[A-Z]{4,}")
"""What may be words."""
PATTERN: Final = re.compile(r"\[\^?\w-\w|\{\d+,?\d*\}|\(\?[:=!<]")
"""What regular expressions have."""

FORM_OF_SYNAPSE: Final = re.compile(r"[\w.,;:^&*\-+=#~@]{50}(?![^\s`*\"'])", re.A)
"""Of what Synapse draws for its configuration (`random_string_with_symbols`): its signs end no value."""
SIGNS_OF_SYNAPSE: Final = frozenset(",;:^&*+=#~@")
"""Of which chance puts seven into fifty, and names of things none or one."""

DATE_TIME: Final = re.compile(r"\d{1,4}[-./:]\d{1,2}(?:[-./:T]\d{1,4})?(?:T?\d{1,2}:\d\d\S*)?|\d{1,2}:\d\d\S*")
VERSION: Final = re.compile(r"[vV]?\d+(?:\.\d+)+(?:[-+.]?[a-z]++[-.]?\d*+)*+")
MEASURE: Final = re.compile(
    r"[~<>=≤≥+\-]*\d[\d.,]*(?:[-–x]\d+)?\s?(?:[a-zA-Zµ%°/]{0,5}|chars?|characters|znaků|bits?|bytes?)"
)
CRYPTOGRAPHY: Final = re.compile(
    r"(?:(?:hmac|hkdf|pbkdf|rsa|dsa|ecdsa|ecdh|eddsa|aes|des|sha|cram|md|crc|ripemd|rmd|poly|chacha|gcm|cbc|ctr|ccm|xts|oaep|pss|encrypt|decrypt|with|and|blake|kmac|cmac|gost|"
    r"keccak|shake|bcrypt|scrypt|argon)[-_/]?\d{0,5}[a-z]?[-_/]?){1,6}",
    re.I,
)
NUMBERED_NAME: Final = re.compile(r"[a-z]{2,12}-?\d{1,2}(?:\.\d{1,2}){1,3}")
"""`glibc2.8`, `python3.11`."""
AMOUNT_SIGNS: Final = frozenset("vV~<>=≤≥+-")
"""What a version or a measure may begin with, beside a digit."""
ORDINAL: Final = re.compile(r"\d+(?:st|nd|rd|th)|[A-Za-z]\d{1,2}|\d[A-Za-z]{1,2}")
TECHNICAL: Final = re.compile(
    r"(?:fips|nist|sp|ansi|iec|din|cis|pci|soc|asvs|ecma|ieee|xoauth|sha|md|aes|rsa|ripemd|blake|crc|hmac|pbkdf|base|utf|ucs|iso|rfc|oauth|argon|bcrypt|scrypt|ed|x|curve|secp|ipv|"
    r"http|tls|ssl|smbv|ntlmv|lm|mysql|python|php|perl|java|node|ubuntu|debian|fedora|centos|rhel|win|windows|kde|gnome|"
    r"ext|usb|mp|h|vp|p|pkcs|x86_|amd|arm|i|qt|gtk|wpa|wep|wlan|eth|wlp|enp|tty|vt|sd|hd|md|nvme|room|page|level|issue|"
    r"bug|cve|pr|mw|rev|build|step|part|phase|option|version|release|user|host|server|node|db|vm|ip|utf-|iso-|sha-|wpa-|"
    r"latin|cp|windows-|totp|hotp|fido|u2f|webauthn|k|i|a|l|e|b|s|g|ec|log|v)[-_]?"
    r"\d{1,5}(?:[-_.]?(?:id|a|k|s|lts|x|gb|mb|bit|personal|enterprise|sha\d+|gcm|cbc|ctr|psk|eap|\d++))*+",
    re.I,
)


def entropy(text: str) -> float:
    """Shannon's, in bits a character."""
    total = len(text)
    return -sum(n / total * math.log2(n / total) for n in Counter(text).values()) if text else 0.0


def is_wordy(text: str) -> bool:
    """Made of words: CamelCase, snake_case or kebab-case with parts as long as words have, which can be spoken."""
    if text.lower() != text != text.upper():
        share = 0.6 if len(text) >= 20 and not DIGITS(text) else 0.7
        if spoken(text) >= share * len(text):
            return True
    parts = CAMEL.findall(text)
    letters = sum(map(len, parts))
    if not parts or letters < 0.7 * len(text) or letters / len(parts) < 4.2:
        return False
    mute = sum(len(part) > 2 and bool(UNSPEAKABLE.search(part)) for part in parts)
    return mute < 0.3 * len(parts)


def spoken(text: str) -> int:
    """How many characters belong to words of five letters or more: chance joins few, in names of functions most do."""
    return sum(len(part) for part in SPOKEN.findall(text) if len(part) > 4 and not CLUSTER.search(part))


def is_slug(text: str) -> bool:
    """Words with a number, as ids of things have: `step2-login-page`, `room-42-projector`."""
    if "-" not in text and "_" not in text and "." not in text and "/" not in text:
        return False
    parts = re.split(r"[-_./:]", text)
    wordy = sum(part.isalpha() and (part.islower() or part.isupper() or part.istitle()) for part in parts)
    if text.isupper() and len({len(part) for part in parts}) == 1 and len(parts) > 3:
        return False  # as licences and recovery keys are printed
    return len(parts) >= 3 and wordy >= 0.6 * len(parts) and entropy(text) < 4.3 and max(map(len, parts)) < 16


def is_random(text: str, least: int = 16) -> bool:
    """As a machine draws it: long enough, varied, and not words. A tie-breaker for a value in a named slot."""
    distinct = len(set(text))
    if len(text) < least or distinct < 6:
        return False
    digits = len(DIGITS(text))
    if digits:
        return bool(LETTERS.search(text)) and not (digits < 0.1 * len(text) and is_wordy(text))
    has_both_cases = text.lower() != text != text.upper()
    return distinct > 8 and not is_wordy(text) if has_both_cases else is_unspeakable(text)


def is_unspeakable(text: str) -> bool:
    """Sixteen or more letters of one case, with consonants in rows that no language has twice in a word."""
    if len(text) < 16 or not text.isalpha() or not text.isascii() or len(set(text)) < 9:
        return False
    rows = [len(row) for row in CONSONANTS.findall(text)]
    return len(rows) > 1 or max(rows, default=0) > 5


def is_of_synapse(text: str) -> bool:
    """A secret as Synapse draws them: commas make it no list, dots no end of what was shortened."""
    return (
        len(text) == 50
        and FORM_OF_SYNAPSE.fullmatch(text) is not None
        and len(SIGNS_OF_SYNAPSE.intersection(text)) > 1
        and text.lower() != text != text.upper()
        and is_random(text, 40)
    )


def is_noise(text: str, least: int = 40, signs: int = 5) -> bool:
    """Letters, digits and so many different signs without words: keys of Django and WordPress, and no code."""
    if len(text) < least or not ON_KEYBOARD.fullmatch(text):
        return False
    return (
        len(set(SIGNS.findall(text))) >= signs
        and len(set(STRONG_SIGNS.findall(text))) > 1
        and len(set(text)) > min(21, 0.6 * len(text))
        and (len(text) >= 40 or text.lower() != text != text.upper())
        and len(DIGITS(text)) > 0
        and sum(map(len, RUNS.findall(text))) < 0.45 * len(text)
        and not PATTERN.search(text)
    )


def is_technical(text: str) -> bool:
    """Digits and letters together that are a date, a size, a version, an algorithm or a name of a thing."""
    if text.isalpha():
        return False
    first = text[:1]
    if (first.isdigit() or first in AMOUNT_SIGNS) and (
        DATE_TIME.fullmatch(text) or VERSION.fullmatch(text) or MEASURE.fullmatch(text)
    ):
        return True
    if ORDINAL.fullmatch(text):
        return True
    return first.isalpha() and bool(
        TECHNICAL.fullmatch(text) or NUMBERED_NAME.fullmatch(text) or (len(text) < 40 and CRYPTOGRAPHY.fullmatch(text))
    )


def looks_chosen(text: str, least: int = 6) -> bool:
    """Letters with digits, or with signs inside, as a password has and a word of a sentence has not."""
    if not least <= len(text) <= 128 or is_technical(text):
        return False
    if not any(map(str.isalpha, text)):
        return False
    if any(map(str.isdigit, text)):
        return len(set(text)) >= 4
    core = text.rstrip("?!*")
    has_sign = not INNER_SIGNS.isdisjoint(core[:-1]) or core[-1:] in ("#", "$", "^")
    return has_sign and len(set(text)) >= 5
