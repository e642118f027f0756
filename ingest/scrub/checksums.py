"""Checksums that token formats carry. A good one proves a token; a bad one proves nothing: it may be cut."""

import zlib
from hashlib import sha256
from typing import Final

BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
RECOVERY_KEY_BYTES: Final = 35


def base62_crc32(text: str, width: int = 6) -> str:
    """CRC32 of `text` in base 62, padded on the left, as GitHub, npm, Synapse and MAS append it."""
    value = zlib.crc32(text.encode("utf-8", "surrogatepass"))
    digits = ""
    while value:
        value, digit = divmod(value, 62)
        digits = BASE62[digit] + digits
    return digits.rjust(width, "0")


def is_github_checked(token: str) -> bool:
    """`ghp_` or `npm_`, 30 random characters, 6 of checksum."""
    _, _, body = token.partition("_")
    return len(body) == 36 and base62_crc32(body[:30]) == body[30:]


def is_matrix_checked(token: str) -> bool:
    """Synapse and MAS tokens: the part after the last `_` is the checksum of all before it."""
    head, _, check = token.rpartition("_")
    return bool(head) and base62_crc32(head) == check


def is_grafana_checked(token: str) -> bool:
    """`glsa_<random>_<crc>`: the CRC32 of all before the last `_`, its bytes least significant first, in hex."""
    head, _, check = token.rpartition("_")
    return bool(head) and zlib.crc32(head.encode("utf-8", "surrogatepass")).to_bytes(4, "little").hex() == check.lower()


def base58_bytes(text: str) -> bytes | None:
    value = 0
    for character in text:
        digit = BASE58.find(character)
        if digit < 0:
            return None
        value = value * 58 + digit
    zeros = len(text) - len(text.lstrip("1"))
    return b"\0" * zeros + value.to_bytes((value.bit_length() + 7) // 8, "big")


def is_recovery_key(text: str) -> bool:
    """Matrix secret storage: 8B 01, 32 bytes, and a byte that makes the XOR of all zero. Blanks are ignored."""
    compact = "".join(text.split())
    if len(compact) > 60 or (raw := base58_bytes(compact)) is None or len(raw) != RECOVERY_KEY_BYTES:
        return False
    parity = 0
    for byte in raw:
        parity ^= byte
    return raw[:2] == b"\x8b\x01" and parity == 0


def is_base58check(text: str) -> bool:
    """Bitcoin's framing: the last four bytes are the double SHA-256 of the rest."""
    if len(text) > 120 or (raw := base58_bytes(text)) is None or len(raw) < 5:
        return False
    return sha256(sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def bech32_polymod(values: list[int]) -> int:
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            if top >> bit & 1:
                check ^= generator
    return check


def bech32_expand(prefix: str) -> list[int]:
    return [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix]


def is_bech32(text: str) -> bool:
    """BIP 173: a prefix, `1`, and data whose last six characters are the checksum. All in one case."""
    low = text.lower()
    prefix, separator, data = low.rpartition("1")
    if text not in (low, text.upper()) or not separator or len(data) < 6 or not prefix or len(text) > 200:
        return False
    digits = [BECH32.find(c) for c in data]
    return min(digits) >= 0 and bech32_polymod(bech32_expand(prefix) + digits) == 1
