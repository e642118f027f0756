"""Words of a command line with their places: quotes, escapes, continuation lines, and where the command ends."""

import re
from dataclasses import dataclass
from typing import Final

PLAIN: Final = re.compile(r"[^ \t\r\n|;`<>‹›\"'\\&]++(?![\"'\\&])")
"""A word without quotes and escapes, which most are."""
LONGEST_LINE: Final = 1500
LONGEST_WORDS: Final = 60


@dataclass(slots=True)
class Word:
    text: str
    start: int
    end: int
    """Inside the quotes, where there are some."""
    quoted: bool

    def after(self, count: int) -> "Word":
        """The rest of a word whose first `count` characters are an option."""
        rest = self.text[count:]
        lead = len(rest) - len(rest.lstrip("\"'"))
        body = rest.strip("\"'")
        return Word(body, self.start + count + lead, self.start + count + lead + len(body), bool(lead) or self.quoted)


def command_words(text: str, at: int, program: str = "") -> list[Word]:
    """What follows a program's name, up to the end of the command: line end, `|`, `;`, `&`, a closing backtick, or the
    program's name again, which is read on its own.
    """
    words: list[Word] = []
    limit = min(len(text), at + LONGEST_LINE)
    while at < limit and len(words) < LONGEST_WORDS:
        c = text[at]
        if c in " \t":
            at += 1
        elif c == "\\" and at + 1 < limit and text[at + 1] in "\r\n":
            at += 3 if text[at + 1 : at + 3] == "\r\n" else 2
        elif c in "\r\n|;&`":
            break
        else:
            word = word_at(text, at, limit)
            if word.text == program:
                break
            words.append(word)
            at = max(word.end + (1 if text[word.end : word.end + 1] in ('"', "'") and word.quoted else 0), at + 1)
    return words


def word_at(text: str, at: int, limit: int) -> Word:
    if plain := PLAIN.match(text, at, limit):
        return Word(plain[0], at, plain.end(), quoted=False)
    quote = text[at]
    if quote in "\"'":
        end = closing(text, at + 1, limit, quote)
        if end >= 0:
            return Word(text[at + 1 : end], at + 1, end, quoted=True)
    end = at
    while (end < limit and text[end] not in " \t\r\n|;`<>‹›") or end == at:
        c = text[end]
        if c == "&" and text[end + 1 : end + 2] in ("&", " ", ""):
            break
        if c in "\"'" and (close := closing(text, end + 1, limit, c)) >= 0:
            end = close + 1
            continue
        end += 2 if c == "\\" and end + 1 < limit and text[end + 1] not in "\r\n" else 1
        if end >= limit:
            end = limit
            break
    if text[at] == "<" and text.startswith("<<<", at):
        end = at + 3
    return Word(text[at:end], at, end, quoted=False)


def closing(text: str, at: int, limit: int, quote: str) -> int:
    """Where the quote that was opened before `at` closes; -1 where it does not on this line."""
    while at < limit:
        c = text[at]
        if c == quote:
            return at
        if c == "\n":
            return -1
        at += 2 if c == "\\" and quote == '"' else 1
    return -1
