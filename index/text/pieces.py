"""What a written word is made of: the parts of an identifier, and the pairs of letters of a script without blanks."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final

# Scripts that do not put blanks between words: Thai to Khmer, kana, Han with its extensions, and Hangul, whose words
# carry their particles with them.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_COMPOUND: Final = re.compile(r"(?<![\w-])[^\W_]+(?:-[^\W_]+){1,3}(?![\w-])")
_LONGEST_COMPOUND: Final = 40


@cache
def _run() -> re.Pattern[str]:
    """Made when the first text comes that is not all ASCII: it takes longer than all else of a search's patterns."""
    return re.compile(f"[{_UNSPACED}]+")


def is_unspaced(word: str) -> bool:
    return not word.isascii() and _run().search(word) is not None


def pairs(word: str) -> Iterator[str]:
    """Each two neighbouring letters of the unspaced runs of a word; the letter itself where it stands alone."""
    if word.isascii():
        return
    for run in _run().findall(word):
        if len(run) == 1:
            yield run
        for left, right in pairwise(run):
            yield left + right


def spaced(word: str) -> list[str]:
    """What is left of a word beside its unspaced runs."""
    return [rest for rest in _run().split(word) if rest]


def parts(word: str) -> list[str]:
    """The parts of an identifier, `sendAsync` into `send` and `Async`; empty for a word of one part.

    Case and digits divide: `HTTPServer2` is `HTTP` and `Server`. Single letters and the digits are left out, as they
    say nothing alone.
    """
    if word.isalpha() and (word.islower() or word.isupper() or (word[1:].islower() and word[0].isupper())):
        return []
    found = []
    start = 0
    for place in range(1, len(word) + 1):
        if place == len(word) or _is_border(word, place):
            if place - start > 1 and word[start].isalpha():
                found.append(word[start:place])
            start = place
    return [] if found == [word] else found


def _is_border(word: str, place: int) -> bool:
    before, here = word[place - 1], word[place]
    if before.isalpha() != here.isalpha():
        return True
    if not here.isupper():
        return False
    return before.islower() or (before.isupper() and place + 1 < len(word) and word[place + 1].islower())


def joined(text: str) -> Iterator[str]:
    """Compounds in one word: `file-system` and `file_system` also as `filesystem`."""
    text = text.replace("_", "-")
    divided = []  # what stands between two blanks and has letters around a hyphen: little, and the pattern is slow
    at = text.find("-", 1)
    while at > 0:
        past = at + 1
        if text[at - 1].isalnum() and text[past : past + 1].isalnum():
            past = text.find(" ", at)
            past = len(text) if past < 0 else past
            divided.append(text[text.rfind(" ", 0, at) + 1 : past])
        at = text.find("-", past)
    for match in _COMPOUND.finditer(" ".join(divided)):
        whole = match[0].replace("-", "")
        if len(whole) <= _LONGEST_COMPOUND:
            yield whole
