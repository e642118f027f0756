"""Key words in a text, with the whole names around them: found once, for all rules that go by names."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from dataclasses import dataclass
from typing import Final

from ingest.scrub.names import Slot, is_bare, known_slot, slot_of
from ingest.scrub.words import GLUED_STEMS, STEM_WORDS, STEMS

LONGEST_NAME: Final = 64
NAME_RIGHT: Final = re.compile(r"(?:[\w\-$]|\.(?=\w)){0,60}+")
WHOLE: Final = STEM_WORDS - STEMS
ANYWHERE: Final = frozenset({*GLUED_STEMS, *(stem for stem in STEM_WORDS | STEMS if not stem.isascii())} - {"key"})
"""Parts of a name wherever they stand."""
ESCAPED: Final = re.compile(r"(?:\\[nrtu]|%[0-9a-f]{2}|\\x[0-9a-f]{2})$")
NAME_SIGNS: Final = ("_", "-", "$", ".")
ARMOUR: Final = "-----"
ESCAPES: Final = ("n", "r", "t")
OPENERS: Final = "+>*`\"'([{|#"
SIGNS_AFTER: Final = ("=", "-")
KEY_LINE: Final = re.compile(r"key[ \t]{0,8}=[ \t]{0,8}[A-Za-z0-9+/=_\-]{24,}+[ \t\r]{0,8}(?:\n|$)")
"""A line of a configuration file and nothing else on it."""
ENCRYPTION: Final = re.compile(r"(?:^|[\s>+])encryption:[ \t]{0,4}\r?\n[ \t>+]{1,24}$")
"""The line above a key in ESPHome's configuration, where it has no other name."""
LINE_START: Final = re.compile(r"(?:^|\n)[ \t>+]{0,15}$")
DRAWN: Final = re.compile("[A-Za-z0-9+/]{20}")
UNKNOWN_KEY: Final = Slot.UNKNOWN_KEY
NEAR: Final = 80
"""How far what an unknown key may be is looked for."""
SPACES: Final = re.compile("[ \u00a0-]")
WORD: Final = re.compile(r"[^\W_][\w'’/]{0,24}")
WORDS_BEFORE: Final = 3
FUNCTION_WORDS: Final = frozenset(
    "is are was has have no not a an the my our your this that these his her its new old same with without and or of to for in on at by here there je ist es est".split()
)
UNSPACED: Final = "\u2e80"
"""From here on are scripts that put no blanks between words: a name there ends with its key word."""
AFTER: Final = re.compile(
    r"[ \u00a0](?:(?:de|di|do|da|del|für|for|pro|k|ke|до|для|от)[ ]|d['’])?(?P<word>[^\W\d_]{2,20})(?=[ \u00a0]?[:：=]|[ ](?:is|je|est|es|è|é|jest|ist)[ ])"
)


@dataclass(slots=True)
class KeyName:
    """A name whose value would be a credential."""

    name: str
    start: int
    end: int
    slot: Slot
    is_option: bool
    """Written as an option: `--token`, `/password`."""


def key_names(text: str, low: str, stems: list[tuple[int, str]]) -> list[KeyName]:
    """`stems`: where key words begin, in order."""
    names: list[KeyName] = []
    at = 0
    for place, stem in stems:
        if place < at:
            continue
        first = place + len(stem)
        if (stem in WHOLE and not is_word(low, place, first)) or is_inside_word(stem, place, first, text):
            continue
        start, end = name_around(text, place, first) if stem < UNSPACED else ascii_before(text, place, first)
        while end > first and text[end - 1] in "-_":
            end -= 1
        at = end
        name = text[start:end].strip("-$")
        if text[end : end + 1] in SIGNS_AFTER and text.startswith((f"={name}=", ARMOUR), end):
            continue  # the inner one is judged on its own; a line of armour names nothing
        is_option = text[start] == "-" or (
            start > 0 and text[start - 1] == "/" and (start < 2 or text[start - 2] == " ")
        )
        slot = slot_of(name) if is_option else slot_here(name, text, start)
        if slot is None and is_bare(name) and (after := AFTER.match(text, end)):
            slot, end = known_slot(f"{after['word']} {name}"), after.end()
        if slot is not None and (slot is not UNKNOWN_KEY or DRAWN.search(text, end, end + NEAR)):
            names.append(KeyName(name, start, end, slot, is_option))
    return names


def is_word(low: str, start: int, end: int) -> bool:
    """No Latin letter before or after, an escaped line end or percent escape apart."""
    if end < len(low) and "a" <= low[end] <= "z":
        return False
    return not start or not "a" <= low[start - 1] <= "z" or bool(ESCAPED.search(low, max(0, start - 4), start))


def is_inside_word(stem: str, start: int, end: int, text: str) -> bool:
    """`path`, `author`, `monkeys`, `keyboard`: a stem that is no part of a name. Capitals are borders: `gitPat`."""
    if stem in ANYWHERE:
        return False
    following = text[end : end + 1]
    if stem == "key":
        return following.islower() and text[end : end + 2] not in ("s ", "s:", "s=", 's"', "s'", "s_")
    before = text[start - 1] if start else ""
    if before in ESCAPES and text[start - 2 : start - 1] == "\\":
        before = ""
    return following.islower() or (before.islower() and text[start].islower())


def name_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The identifier that holds the key word."""
    floor = max(0, start - LONGEST_NAME)
    while start > floor:
        c = text[start - 1]
        if not (c.isalnum() or c in "_-$" or (c == "." and start > 1 and text[start - 2].isalnum())):
            break
        if c in "nrt" and start > 1 and text[start - 2] == "\\":
            break
        start -= 1
    c = text[end : end + 1]
    if c.isalnum() or c in NAME_SIGNS:
        end = NAME_RIGHT.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing as well
    return start, end


def ascii_before(text: str, start: int, end: int) -> tuple[int, int]:
    """`APIキー`, but not the sentence before and after."""
    while start and text[start - 1].isascii() and text[start - 1].isalnum():
        start -= 1
    return start, end


def slot_here(name: str, text: str, start: int) -> Slot | None:
    """The slot of a name, or of a bare key word with the words before it: "cache key" is public, "API key" is not."""
    slot = slot_of(name)
    if not is_bare(name):
        return slot
    if name == "key" and KEY_LINE.match(text, start) and LINE_START.search(text, max(0, start - 16), start):
        return Slot.KEY
    if name == "key" and ENCRYPTION.search(text, max(0, start - 64), start):
        return Slot.KEY
    qualifiers = " ".join(word for word in words_before(text, start).split() if word.lower() not in FUNCTION_WORDS)
    if not qualifiers:
        return slot
    full = slot_of(f"{qualifiers} {name}")
    if full is UNKNOWN_KEY:  # in sentences there are many that are none: "the hash key", "a row key"
        return slot
    return full if slot is None or full is None else min(slot, full)


def words_before(text: str, start: int) -> str:
    """Up to three words that may qualify the name: "API key", "AWS secret access key"."""
    if start < 2 or text[start - 1] not in " \u00a0-":
        return ""
    words = SPACES.split(text[max(0, start - 80) : start - 1].rpartition("\n")[2])
    found: list[str] = []
    for word in reversed(words[-WORDS_BEFORE:]):
        bare = word.rpartition(">")[2].lstrip(OPENERS)
        if not WORD.fullmatch(bare):
            break
        found.insert(0, bare)
        if bare != word:
            break
    return " ".join(found)
