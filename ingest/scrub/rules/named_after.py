"""Sentences in the other order: the value first, then what it is."""

# ruff: noqa: E501  (patterns read better unbroken)

import re
from typing import Final

from ingest.scrub.keywords import KeyName
from ingest.scrub.model import NOTHING, NameRule, Spans
from ingest.scrub.names import Slot
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.prose import BLANK, OF_ANOTHER, PROMISING, is_strong
from ingest.scrub.shapes import is_random, looks_chosen
from ingest.scrub.slots import is_credential, is_nested
from ingest.scrub.values import Value

BLANK_OR_BRACKET: Final = BLANK | {"("}
LONGEST_BEFORE: Final = 200
ADDRESS: Final = re.compile(r"[\w.+\-]{1,64}@[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,5}")
BEFORE: Final = re.compile(
    r"(?:[ \t]{1,12}(?:is|was|as|for|to be|je|byl[oay]?|bude|jako|ist|war|als|es|era|como|para|est|comme|è|come|é|jest|jako|är|er|som|on|это|как|=|-|–|—|<-|←)[ \t]{1,12}|,[ \t]{1,12}|[ \t]{1,12}\([ \t]{0,4})"
    r"(?:(?:the|a|my|our|your|its|that's|this is|new|root|admin|wifi|das|dein|unser|mein|el|la|le|su|tu|mi|o|a|to|moje|naše|tvoje|tam|tím|het|il|lo|mon|ton|notre|votre|meu|sua|мой|наш)[ \t]{1,12}){0,3}$"
)
DRAWN_BEFORE: Final = re.compile(
    r"(?:[ ](?:is|was|as|je|jako|ist|war|als|es|como|est|comme|è|come|jest|это|как)[ ]|[ ]{0,4}(?:<-|←|[(])[ ]{0,4})"
    r"(?:(?!(?:of|for|in|on|at|to|from|by|with|that|which|when|if|not|no|only|used|commit|and|or)[ ])[^\W\d_]{1,20}[ ]){0,4}$"
)
"""More words may stand between where the value was drawn beyond doubt, as no word and no name is."""


def named_after(key: KeyName, text: str, low: str) -> Spans:
    """`X is the password`, `try X as the password`, `X is the registration shared secret`."""
    is_password = key.slot is Slot.PASSWORD
    if (
        text[key.end : key.end + 1] == "("
        or key.slot is Slot.UNKNOWN_KEY
        or not key.start
        or text[key.start - 1] not in BLANK_OR_BRACKET
        or not PROMISING.search(text, max(0, key.start - LONGEST_BEFORE), key.start)
    ):
        return NOTHING
    before = (BEFORE if is_password else DRAWN_BEFORE).search(low, max(0, key.start - 60), key.start)
    if not before or (not is_password and OF_ANOTHER.match(low, key.end)):
        return NOTHING
    end = before.start()
    begin = max(text.rfind(blank, max(0, end - 130), end) for blank in " \t\r\n\u00a0") + 1
    begin = max(begin, end - 130, 0)
    raw = text[begin:end]
    stripped = raw.strip("\"'`“”„»«*_(),:")
    quoted = bool(raw) and raw[0] in "\"'`“„«*"
    if (
        not stripped
        or any(c in stripped for c in "/<>[]{}(\\")
        or ADDRESS.fullmatch(stripped)
        or (before[0].startswith(",") and is_nested(stripped))
        or is_placeholder(stripped, quoted=quoted)
    ):
        return NOTHING
    begin += raw.index(stripped)
    value = Value(stripped, begin, begin + len(stripped), quoted, text, end)
    good = is_strong(stripped) or looks_chosen(stripped, 6) if is_password else is_random(stripped, 20)
    name = "" if is_password else key.name
    return ((value.start, value.end),) if good and is_credential(key.slot, value, name=name, sign="is") else NOTHING


RULES: Final = (
    NameRule(
        name="named-after",
        why="The other order: the value first, then what it is.",
        finds=(
            "try ⟦{chosen}⟧ as the password",
            "⟦{chosen}⟧ is the password",
            "použij ⟦{chosen}⟧ jako heslo",
            "⟦{signs:14}⟧ ist das Passwort",
            "⟦{chosen}⟧ <- admin pw",
            "`⟦{alnum:40}⟧` is the registration shared secret",
            "use ⟦{alnum:24}⟧ as the api key",
            "⟦{hex:40}⟧ (the old access token)",
        ),
        leaves=(
            "what is the password",
            "a boarding pass, a season pass, a mountain pass",
            "send it as a password",
            "utf-8 is the password encoding",
            "{hex:40} is the commit that removed the token",
            "{hex:40} is the key id",
            "0F1E2D3C4B5A69788796A5B4C3D2E1F00A1B2C3D is the release signing key",
            "{hex:64} is the digest of the secret",
            "s72594_4483_1934 is the sync token",
        ),
        worst=" is the ",
        find=named_after,
        is_forward=False,
    ),
)
