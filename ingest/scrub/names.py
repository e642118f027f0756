"""What a name says about the value beside it: `db_password`, `apiKey`, `X-Auth-Token` hold credentials, `max_tokens`,
`public_key`, `PASSWORD_FILE` do not. Names are cut at case and at `_-.`, and a key word has to be a whole part.
"""

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final

from ingest.scrub.vocabulary import (
    CLAVE,
    FILLERS,
    GLUED_KEYS,
    KEY_QUALIFIERS,
    KEYS,
    PASSWORD_AFTER,
    PASSWORD_ENDS,
    PASSWORD_GLUE,
    PASSWORDS,
    PUBLIC,
    PUBLIC_ENDS,
    SECRET_AFTER,
    SECRETS,
    TOKENS,
    TRAILING,
    WIRELESS,
)


class Slot(IntEnum):
    """What a name promises. The order is how much the value still has to prove, least first."""

    PASSWORD = 1  # a chosen or drawn word
    SECRET = 2  # drawn, sometimes chosen
    TOKEN = 3  # drawn
    KEY = 4  # drawn, and many keys are public
    UNKNOWN_KEY = 5  # drawn beyond doubt: a key of something that we do not know


EXACT: Final = {
    **dict.fromkeys(("validationKey", "decryptionKey", "validation_key", "decryption_key"), Slot.KEY),
    **dict.fromkeys(("sshpass", "PVEAPIToken"), None),
}
"""What checks or opens with the first also signs and closes; the last are a program, and a scheme whose tokens have a
rule of their own."""
ENDS: Final = {("api", "hash"): Slot.KEY, ("erlang", "cookie"): Slot.SECRET, ("bw", "session"): Slot.SECRET}
"""Names of two words, of which neither is a key word: of Telegram's clients, of clusters of RabbitMQ, of Bitwarden."""
PART: Final = re.compile(r"[A-Za-z]\d{1,2}[a-z](?![a-zà-ž])|[A-Z]+(?![a-zà-ž])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+|\d+")


def cut_name(name: str) -> list[str]:
    """A numeronym is one part: `n8n`, `k8s`."""
    return PART.findall(name.lower() if name.isupper() and max(name) < "\u2e80" else name)


@lru_cache(maxsize=4096)
def slot_of(name: str) -> Slot | None:
    """What the value of `name` is; None where the name is no key word or says that the value is public.

    `name` may be several words: "API key", "clave de API", "db_password".
    """
    if name in EXACT:
        return EXACT[name]
    parts = [part.lower() for part in cut_name(name)]
    while parts and (parts[-1].isdigit() or parts[-1] in TRAILING):
        parts.pop()
    if not parts:
        return None
    if tuple(parts[-2:]) in ENDS:
        return ENDS[parts[-2], parts[-1]]
    for at in range(len(parts) - 1, -1, -1):
        word = parts[at]
        slot = word_slot(word)
        if slot is None:
            continue
        before, after = parts[:at], [part for part in parts[at + 1 :] if not part.isdigit()]
        return judge_name(slot, word, before, after)
    return None


def known_slot(name: str) -> Slot | None:
    """The same, without keys that only their values may prove."""
    slot = slot_of(name)
    return None if slot is Slot.UNKNOWN_KEY else slot


@lru_cache(maxsize=4096)
def is_bare(name: str) -> bool:
    """One word that is public or not by the words before it: "key", "token", "secret"."""
    parts = cut_name(name)
    return len(parts) == 1 and (parts[0].lower() in KEYS or word_slot(parts[0].lower()) in (Slot.TOKEN, Slot.SECRET))


def word_slot(word: str) -> Slot | None:
    if word in PASSWORDS or word.endswith(tuple(PASSWORD_ENDS)) or PASSWORD_GLUE.fullmatch(word):
        return Slot.PASSWORD
    if word in SECRETS or (word.endswith("secret") and len(word) <= 20):
        return Slot.SECRET
    if word in TOKENS or (word.endswith("token") and len(word) <= 16):
        return Slot.TOKEN
    if word in KEYS or word in GLUED_KEYS or (word.endswith(("apikey", "schlüssel")) and len(word) <= 28):
        return Slot.KEY
    return None


def judge_name(slot: Slot, word: str, before: list[str], after: list[str]) -> Slot | None:
    if len(after) > 3 or any(part in PUBLIC_ENDS for part in after):
        return None
    if before and any(part in PUBLIC for part in before[-3:]) and not ("no" in before and slot is Slot.PASSWORD):
        is_kept = before[-1] in (PASSWORD_AFTER if slot is Slot.PASSWORD else SECRET_AFTER)
        return slot if is_kept and slot in (Slot.PASSWORD, Slot.SECRET) else None
    if slot is Slot.KEY and word in KEYS:
        near = [part for part in before[-3:] if part not in FILLERS] + [part for part in after if part not in FILLERS]
        if any(part in WIRELESS for part in near) or {"pre", "shared"} <= set(near):
            return Slot.PASSWORD
        if any(part in KEY_QUALIFIERS or word_slot(part) in (Slot.SECRET, Slot.PASSWORD) for part in near):
            return Slot.SECRET if "secret" in near or "private" in near else Slot.KEY
        if word in CLAVE:
            return Slot.PASSWORD
        is_named = word == "key" and near and not after and len(before) <= 4 and "consumer" not in near
        return Slot.UNKNOWN_KEY if is_named else None
    if slot is Slot.KEY and word.startswith(("secret", "priv")):
        return Slot.SECRET
    if (word in ("pass", "pw") and after) or (word == "signingkey" and before[-1:] == ["user"]):  # git's is an id
        return None
    return slot
