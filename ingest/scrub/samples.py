"""Examples that are made at run time, so that no file of this repository holds anything that looks like a credential.

A template is text with makers in braces: `{hex:32}` becomes 32 hex digits, `{github:ghp_}` a token with a good
checksum. What stands between ⟦ and ⟧ is the secret. Braces around other names stay as they are.
"""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from ingest.scrub.checksums import BASE58, BASE62, BECH32, base62_crc32, bech32_expand, bech32_polymod

LOWER: Final = "abcdefghijklmnopqrstuvwxyz"
UPPER: Final = LOWER.upper()
DIGITS: Final = "0123456789"
ALPHABETS: Final = {
    "alnum": BASE62,
    "lower": LOWER + DIGITS,
    "upper": UPPER + DIGITS,
    "letters": LOWER,
    "mixed": LOWER + UPPER,
    "digits": DIGITS,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "b64": BASE62 + "+/",
    "url64": BASE62 + "-_",
    "base32": UPPER + "234567",
    "lower32": LOWER + "234567",
    "base58": BASE58,
    "signs": BASE62 + "!*^%+=~?.-_",
    "of_synapse": BASE62 + ".,;:^&*-_+=#~@",
    "of_django": LOWER + DIGITS + "!@#$%^&*(-_=+)",
    "keyboard": BASE62 + "!@#$%^&*()-_=+[];:,.?|~",
    "of_wordpress": BASE62 + "!@#$%^&*()-_ []{}<>~`+=,.;:/?|",
}
WORDS: Final = (
    "anchor biscuit cobalt copper falcon garden harbor lantern marble meadow orchid pepper pickle river rocket saddle "
    "sunflower thunder velvet walnut watermelon winter"
).split()
SEED_WORDS: Final = (
    "acid album anchor apple arrow badge bacon basic beach blanket bridge cabin camera candle carbon castle cherry copper cradle dance "
    "desert dolphin dragon eagle elder engine fabric falcon garden ginger hammer harbor island jacket kitten ladder lemon magnet meadow"
).split()


@dataclass(frozen=True, slots=True)
class Sample:
    text: str
    secrets: tuple[str, ...]


def draw(random: Random, alphabet: str, length: int) -> str:
    """Never without a digit and a letter where the alphabet has both: a token of 16 letters is not what we test."""
    while True:
        text = "".join(random.choices(alphabet, k=length))
        wants = [set(alphabet) & set(DIGITS), set(alphabet) & set(LOWER + UPPER)]
        if length < 8 or all(not want or want & set(text) for want in wants):
            return text


def github(random: Random, prefix: str) -> str:
    body = draw(random, BASE62, 30)
    return prefix + body + base62_crc32(body)


def synapse(random: Random, prefix: str) -> str:
    user = b64encode(random.choice((b"anna", b"backup-bot", b"petr"))).decode().rstrip("=")
    head = f"{prefix}{user}_{draw(random, LOWER + UPPER, 20)}"
    return f"{head}_{base62_crc32(head)}"


def mas(random: Random, prefix: str) -> str:
    head = prefix + draw(random, BASE62, 30)
    return f"{head}_{base62_crc32(head)}"


def base58_encode(raw: bytes) -> str:
    value, text = int.from_bytes(raw, "big"), ""
    while value:
        value, digit = divmod(value, 58)
        text = BASE58[digit] + text
    return text


def recovery(random: Random, gap: str) -> str:
    raw = bytes([0x8B, 1]) + random.randbytes(32)
    parity = 0
    for byte in raw:
        parity ^= byte
    text = base58_encode(raw + bytes([parity]))
    return " ".join(text[i : i + 4] for i in range(0, len(text), 4)) if gap else text


def bech32(random: Random, prefix: str) -> str:
    digits = [random.randrange(32) for _ in range(52)]
    check = bech32_polymod([*bech32_expand(prefix.lower()), *digits, *[0] * 6]) ^ 1
    digits += [check >> 5 * (5 - i) & 31 for i in range(6)]
    text = prefix.lower() + "1" + "".join(BECH32[d] for d in digits)
    return text.upper() if prefix.isupper() else text


def jwt(random: Random, _: str) -> str:
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"%d"}' % random.randrange(10**9), random.randbytes(32))
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def macaroon(random: Random, _: str) -> str:
    raw = b"0019location example.org\n0013identifier key\n002fsignature " + random.randbytes(64) + b"\n"
    return urlsafe_b64encode(raw).decode().rstrip("=")


def basic(random: Random, _: str) -> str:
    return b64encode(b"deploy:" + draw(random, BASE62, 14).encode()).decode().rstrip("=")


def key_body(random: Random, arg: str) -> str:
    """`lines` of 64 base64 digits; what separates them is a real or an escaped line end, and a prefix."""
    count, _, gap = arg.partition(",")
    return (gap or "\n").join(draw(random, BASE62 + "+/", 64) for _ in range(int(count)))


def uuid(random: Random, _: str) -> str:
    return "-".join(draw(random, "0123456789abcdef", n) for n in (8, 4, 4, 4, 12))


def chosen(random: Random, _: str) -> str:
    return f"{random.choice(WORDS).capitalize()}{random.choice('-_.*')}{random.randrange(100, 9999)}"


def seed(random: Random, arg: str) -> str:
    return " ".join(random.sample(SEED_WORDS, k=int(arg)))


def diceware(random: Random, arg: str) -> str:
    count, _, gap = arg.partition(",")
    return (gap or "-").join(random.choices(WORDS, k=int(count)))


MAKERS: Final[dict[str, Callable[[Random, str], str]]] = {
    "github": github,
    "synapse": synapse,
    "mas": mas,
    "recovery": recovery,
    "bech32": bech32,
    "jwt": jwt,
    "macaroon": macaroon,
    "basic": basic,
    "body": key_body,
    "uuid": uuid,
    "chosen": chosen,
    "diceware": diceware,
    "seed": seed,
    "weak": lambda random, _: random.choice(WORDS),
}
BRACES: Final = re.compile(r"\{([A-Za-z]\w*)(?::([^{}]*))?\}")


def fill(template: str, seed: int) -> str:
    """The template with its makers run; ⟦ and ⟧ stay."""
    random = Random(f"{seed} {template}")

    def make(match: re.Match[str]) -> str:
        name, arg = match[1], match[2] or ""
        if name in ALPHABETS and arg.isdigit():
            return draw(random, ALPHABETS[name], int(arg))
        maker = MAKERS.get(name)
        return maker(random, arg) if maker else match[0]

    return BRACES.sub(make, template)


def sample(template: str, seed: int = 0) -> Sample:
    filled = fill(template, seed)
    secrets = tuple(re.findall("⟦([^⟧]*)⟧", filled))
    return Sample(filled.replace("⟦", "").replace("⟧", ""), secrets)
