"""A light suffix stripper for Czech, on folded words: `databázemi`, `databázi` and `databaze` meet in `databaz`.

It works without diacritics, because half of what people type into a search has none. It is written from the tables of
declension and conjugation; where a form changes its stem (`pes`, `psa`), the paradigms of `index.text.lemmas` help out.
"""

from typing import Final

_SHORTEST_STEM: Final = 3

_NOUNS: Final = "atech atum etem ata aty ete eti etem ovi ove ech ach ich am em im um ami emi imi ama mi ou u y a e i o"
_ADJECTIVES: Final = "ych ym ymi yma eho emu iho imu ejsi ejsich ejsim ejsimi ejsiho ejsimu ovych ovym ovymi ova ovu"
_PRESENT: Final = (
    "uju uji ujes uje ujeme ujete ujou ujme ujte ejme ejte at aji as ame ate it is ime ite et es eme ete ovat nout"
)
_PAST: Final = (
    "al ala alo ali aly il ila ilo ili ily el ela elo eli ely oval ovala ovalo ovali ovaly nul nula nulo nuli nuly"
)
# Endings of cases, persons and degrees, folded; the longest that leaves a stem is taken.
_ENDINGS: Final = frozenset(" ".join((_NOUNS, _ADJECTIVES, _PRESENT, _PAST)).split())
_LONGEST: Final = max(map(len, _ENDINGS))
# What stays of a verb, its participles and its noun after the ending went: `instalovan-`, `nasledujic-`, `nastaven-`.
_STEM_ENDINGS: Final = ("ovan", "ovav", "ujic", "ajic", "ejic", "ouc", "ov", "uj", "an", "en")


def strip(word: str) -> str:
    """The key of one folded word."""
    stem = _without_ending(word)
    if stem.endswith(_STEM_ENDINGS):
        for ending in _STEM_ENDINGS:
            if stem.endswith(ending) and len(stem) - len(ending) >= _SHORTEST_STEM + 1:
                stem = stem[: -len(ending)]
                break
    return _with_plain_end(stem)


def _without_ending(word: str) -> str:
    if len(word) == _SHORTEST_STEM:
        return word[:-1] if word[-1] in "aeiouy" else word  # `psa`, `dny`
    for size in range(min(_LONGEST, len(word) - _SHORTEST_STEM), 0, -1):
        if word[-size:] in _ENDINGS:
            return word[:-size]
    return word


def _with_plain_end(stem: str) -> str:
    """Fleeting `e` and a softened `k` undone: `tabulek` and `tabulce` become `tabulk`, as `tabulka` is."""
    if len(stem) > _SHORTEST_STEM and stem[-2] == "e" and stem[-1] in "kc" and stem[-3] not in "aeiouy":
        stem = stem[:-2] + stem[-1]
    if len(stem) > _SHORTEST_STEM and stem[-1] == "c":
        stem = stem[:-1] + "k"
    return stem
