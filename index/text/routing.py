"""The shape of a question says where its answer is likely to stand: `what stops ...` is asked of the safeguards.

A table, and a matcher of words for it. A route lifts hits of its sections and kinds and removes none. Patterns are
words, never regular expressions, so a row of the configuration cannot make a question slow.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from index.model import Kind
from index.text.fold import fold

_EDGES: Final = "\"'`„“”‚‘’«»()[]{}<>.,;:!?…"
_MOST_WORDS: Final = 64


class Target(Struct, frozen=True):
    """What a route looks at in a hit."""

    kind: Kind
    section: str | None = None


class Route(Struct, frozen=True):
    """Questions that open with one of `phrases` lift hits of `sections` or `kinds` by `factor`.

    In a phrase `*` stands for one or more words, and a word that ends in `*` for all words that begin so. Case and
    diacritics do not matter. A phrase that starts with `*` may stand further inside.
    """

    name: str
    phrases: tuple[str, ...]
    sections: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    factor: float = 1.2
    heading_factor: float = 1.0  # for hits whose heading is the word that is asked for (`headword.py`)

    def lifts(self, target: Target) -> bool:
        if target.section is not None and fold(target.section) in map(fold, self.sections):
            return True
        return target.kind in self.kinds


NARRATIVE: Final = (Kind.README, Kind.MANUAL, Kind.DOC, Kind.NOTE)

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "safeguard",
        (
            "what stops", "what prevents", "what keeps", "what protects", "what guards", "what happens if",
            "what happens when", "what if", "what saves", "how is * prevented", "how is * protected", "is it safe",
            "is it possible to * twice", "can * happen", "can two", "can it * twice", "are * even when",
            "is * even when",
            "co brani", "co zabrani", "co zabranuje", "co chrani", "co hlida", "co se stane kdyz", "co se stane pokud",
            "co kdyz", "je bezpecne", "muze se stat", "jak je zajisteno",
            "was verhindert", "was schutzt", "was passiert wenn", "was geschieht wenn", "was hindert", "ist es sicher",
        ),
        sections=("OPERATIONAL SAFEGUARDS",),
    ),
    Route(
        "configuration",
        (
            "which variable*", "which setting*", "which parameter*", "what variable*", "what setting*",
            "where is * set", "where do i set", "where do i change", "how do i change", "how do i set",
            "how can i change",
            "how can i set", "how many", "how much", "how long", "maximum", "minimum", "setting for", "settings for",
            "where is * defined", "where is * configured",
            "what is the default", "default of", "default value", "in which file is * configured",
            "* which variable*", "* which setting*", "* is configured", "* can be configured",
            "ktera promenna", "kterou promennou", "ktere nastaveni", "jakou promennou", "kde se nastav*", "jak nastav*",
            "cim se nastav*", "jak se nastav*", "jaka je vychozi", "jaky je vychozi", "vychozi hodnota",
            "kolik", "jak dlouho", "kde je * nastaven*", "nastaveni pro",
            "welche variable", "welche einstellung", "mit welcher variable*", "wo stellt man", "wie stelle ich",
            "was ist der standardwert", "wie viele", "wie lange", "einstellung fur",
        ),
        sections=("CONFIGURATION",),
    ),
    Route(
        "mode",
        (
            "--*", "* --*", "does it take", "does it accept", "does it support", "can it be run", "can i run",
            "can i call", "can it run", "how do i run", "how do i start", "how do i call", "how is it run",
            "how to run", "which option*", "which flag*", "which switch*", "which argument*", "which mode*",
            "what option*", "what flag*", "what argument*", "what modes", "is there a flag", "is there an option",
            "is there a switch",
            "is there a mode", "is there a dry run", "* dry run", "* without changing anything",
            "ma prepinac", "umi prepinac", "ktery prepinac", "kterym prepinac*", "jaky prepinac", "jake rezimy",
            "v jakem rezimu", "jak se spousti", "jak spustit", "jak spustim", "lze spustit", "jde spustit",
            "gibt es eine option", "gibt es einen schalter", "welche option*", "welcher schalter", "wie startet man",
            "wie rufe ich",
        ),
        sections=("RUNTIME MODES",),
    ),
    Route(
        "design",
        (
            "why", "* and why", "what is the reason", "for what reason", "what was the reason", "what is the idea",
            "how come", "what speaks against", "what is the advantage",
            "proc", "z jakeho duvodu", "jaky je duvod", "jaka je vyhoda", "co vedlo",
            "warum", "wieso", "weshalb", "aus welchem grund",
        ),
        sections=("DESIGN PRINCIPLES",),
    ),
    Route(
        "operation",
        (
            "how does", "how do the", "how are", "how is", "in what order", "in which order", "when does", "when is",
            "when are", "what does * do", "what happens to", "what happens after", "what happens before", "how often",
            "jak funguje", "jak pracuje", "jak probiha", "jak se", "v jakem poradi", "kdy se", "jak casto", "kam se",
            "co dela", "co se deje",
            "wie funktioniert", "wie arbeitet", "wie lauft", "in welcher reihenfolge", "wann wird", "wie oft",
        ),
        sections=("OPERATIONAL MODEL",),
    ),
    Route(
        "definition",
        (
            "what is", "what are", "what does * mean", "what is meant", "define", "definition of", "meaning of",
            "who is", "overview of",
            "co je", "co jsou", "co znamena", "co se rozumi", "co to je", "k cemu je", "k cemu slouzi",
            "was ist", "was sind", "was bedeutet", "was versteht man", "wozu dient",
        ),
        kinds=NARRATIVE,
        heading_factor=2.0,
    ),
    Route(
        "instruction",
        (
            "how to", "how do i", "how do we", "how can i", "how can we", "steps to", "steps for", "what to do",
            "what do i do", "what do i have to", "what must i do", "instructions for", "guide to",
            "jak mam", "jak mohu", "jak muzu", "co delat", "co mam delat", "postup",
            "wie kann ich", "wie mache ich", "was tun", "was muss ich tun", "anleitung",
        ),
        kinds=(Kind.MANUAL,),
    ),
    Route(
        "template",
        (
            "template*", "* template*", "boilerplate", "* boilerplate", "skeleton", "* skeleton", "form for",
            "example of", "an example of", "sample of", "ukazka", "priklad", "beispiel fur",
            "sablon*", "* sablon*", "vzor pro", "vorlage*", "* vorlage*",
        ),
        kinds=(Kind.TEMPLATE,),
    ),
)  # fmt: skip


def route(text: str, routes: Sequence[Route] = ROUTES) -> tuple[Route, ...]:
    """The routes whose shape the question has, in the order of the table."""
    words = _words(text)
    return tuple([row for row in routes if any(_matches(_pattern(one), words) for one in _likely(row.phrases, words))])


def boosts(target: Target, routes: Sequence[Route]) -> tuple[tuple[str, float], ...]:
    """Name and factor of each route that lifts such a hit."""
    return tuple((row.name, row.factor) for row in routes if row.lifts(target))


def _likely(phrases: tuple[str, ...], words: Sequence[str]) -> Iterator[str]:
    """The phrases that do not begin with another word than these: so do nearly all, which need not be taken apart."""
    if words:
        exact, others = _openings(phrases)
        yield from exact.get(words[0], ())
        yield from (phrase for beginning, phrase in others if words[0].startswith(beginning))


@cache
def _openings(phrases: tuple[str, ...]) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """Phrases by their first word; and with its beginning those where it is a gap, or stands for several."""
    exact: dict[str, list[str]] = {}
    others: list[tuple[str, str]] = []
    for phrase in phrases:
        first = fold("".join(phrase.split(maxsplit=1)[:1]).strip(_EDGES))
        if first.endswith("*") or not first:
            others.append((first.removesuffix("*"), phrase))
        else:
            exact.setdefault(first, []).append(phrase)
    return exact, others


@cache
def _pattern(phrase: str) -> list[str]:
    """The phrases of a table are few, and asked for at every question."""
    return _words(phrase)


def _words(text: str) -> list[str]:
    found = (fold(word.strip(_EDGES)) for word in text.split(maxsplit=_MOST_WORDS)[:_MOST_WORDS])
    return [word for word in found if word]


def _matches(pattern: list[str], words: list[str]) -> bool:
    """Segments between gaps are looked for one after the other, each as early as can be: no backtracking is needed."""
    place = 0
    segment: list[str] = []
    is_anchored = True
    for atom in [*pattern, "*"]:
        if atom != "*":
            segment.append(atom)
            continue
        if segment:
            found = _find(segment, words, place, is_anchored=is_anchored)
            if found is None:
                return False
            place = found + len(segment)
        segment = []
        is_anchored = False
        place += 1
    return any(atom != "*" for atom in pattern)


def _find(segment: list[str], words: list[str], start: int, *, is_anchored: bool) -> int | None:
    last = start if is_anchored else len(words) - len(segment)
    for place in range(start, last + 1):
        here = words[place : place + len(segment)]
        if len(here) == len(segment) and all(map(_is_like, segment, here)):
            return place
    return None


def _is_like(atom: str, word: str) -> bool:
    return word.startswith(atom[:-1]) if atom.endswith("*") else word == atom
