"""The languages whose inflection is known: where their stemmer is, and how their texts are told apart.

A text is read in the languages whose function words it has. A query is too short for that and is read in all.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct

from index.errors import ConfigError
from index.text.fold import fold

_SHARE_OF_BEST: Final = 0.2
_REMEMBERED: Final = 16_384  # words
_LONGEST_REMEMBERED: Final = 40  # longer ones hardly come again
_WITH_PARADIGMS: Final = ("en", "cs", "sk")


class Language(Struct, frozen=True, eq=False):  # one of each: compared and hashed once a word, so by identity
    code: str
    stemmer: str | None  # its name in Snowball; None: our own rules
    letters: str  # those that set it apart, in lower case
    function_words: frozenset[str]  # folded
    has_paradigms: bool = False  # of the dictionaries, only those that gain and fit: German takes 250 MB


def _language(code: str, stemmer: str | None, letters: str, function_words: str) -> Language:
    return Language(code, stemmer, letters, frozenset(function_words.split()), code in _WITH_PARADIGMS)


_ALL: Final = (
    _language("en", "english", "",
        "the and of to that with for this you are not from have which or it be can if your is was by will does how"),
    _language("cs", None, "áéíóúýěřůťďňčšž",
        "se je ze ktery ktere jsou jako nebo pro pri jeho byl bude tak podle pokud kde jak uz jsem aby v na ve co"),
    _language("sk", None, "áéíóúýľĺŕôäťďňčšž",
        "sa je ze ktory ktore su ako alebo pre pri jeho bol bude tak podla ak kde uz som nie je aby v na vo ku co ked"),
    _language("de", "german", "äöüß",
        "der die und das ist nicht mit ein eine den von zu auf wird sich auch dem werden oder wenn fur"),
    _language("pl", "polish", "ółąęśżźćń",
        "sie jest nie na ze do jak dla ktore ktory oraz przez lub sa od jego po byl tym aby"),
    _language("fr", "french", "éçèêàâîôùœ",
        "le la les des est et une dans que pour qui pas sur avec vous sont ce par au plus"),
    _language("es", "spanish", "ñáéíóú¿¡",
        "el la los las que en un una por con para es del se no su como esta al mas"),
    _language("it", "italian", "èàùòì",
        "il di che la per un una non con sono del della si gli alla nel come piu anche"),
    _language("nl", "dutch", "",
        "de het een van en is dat niet op te zijn voor met die wordt aan ook als bij naar"),
    _language("pt", "portuguese", "áéíóúãõçâê",
        "que nao uma com para os um por se da do as dos como mais ao foi ou sua na"),
    _language("sv", "swedish", "åäö",
        "och att det som en ar pa inte av for med den till ett har kan eller om du fran"),
    _language("da", "danish", "åæø",
        "og at det er en af til for ikke med den som der et har kan eller du fra pa"),
    _language("no", "norwegian", "åæø",
        "og det er en av til for ikke med den som et har kan eller du fra pa som i"),
    _language("fi", "finnish", "äö",
        "ja on ei se etta kun tai ovat mutta niin joka myos voi kuin jos ole sen han ne"),
    _language("hu", "hungarian", "őűáéöü",
        "a az es hogy nem is egy van ez meg csak vagy mint de azt ha mar kell lehet"),
    _language("ro", "romanian", "ăâîșț",
        "si de la cu nu este pe un o in sa din care pentru mai ca sunt sau ce fi"),
    _language("ru", "russian", "аеиоу",
        "и в не на что с по как это для из или к от но же так если у за"),
)  # fmt: skip
KNOWN: Final = {language.code: language for language in _ALL}


def chosen(codes: Iterable[str]) -> tuple[Language, ...]:
    """In the order given, each once. An unknown code is a `ConfigError`."""
    found = {}
    for code in codes:
        if code not in KNOWN:
            raise ConfigError(f"languages: no rules for {code[:20]!r} (known: {', '.join(sorted(KNOWN))})")
        found[code] = KNOWN[code]
    return tuple(found.values())


class _Common(dict[str, int]):
    """Of which languages a word, as written, is a function word: one bit for each. Made when it is asked for."""

    def __init__(self, languages: tuple[Language, ...]) -> None:
        super().__init__()
        self._folded: dict[str, int] = {}
        for place, language in enumerate(languages):
            for word in language.function_words:
                self._folded[word] = self._folded.get(word, 0) | 1 << place

    def __missing__(self, word: str) -> int:
        bits = self._folded.get(fold(word), 0)
        if len(self) >= _REMEMBERED:
            self.clear()
        if len(word) <= _LONGEST_REMEMBERED:
            self[word] = bits
        return bits


_common: Final = lru_cache(4)(_Common)


def spoken(words: Iterable[str], text: str, languages: tuple[Language, ...]) -> tuple[Language, ...]:
    """Those of `languages` a text is written in, by its function words and letters; the first where it has none."""
    if len(languages) < 2:
        return languages
    found = list(filter(None, map(_common(languages).__getitem__, words)))
    counts = [(bits, found.count(bits)) for bits in set(found)]
    votes = [sum([count for bits, count in counts if bits >> place & 1]) for place in range(len(languages))]
    if not text.isascii():
        lowered = text.lower()
        votes = [
            vote + sum(map(lowered.count, language.letters)) for vote, language in zip(votes, languages, strict=True)
        ]
    enough = max(votes) * _SHARE_OF_BEST
    if not enough:
        return languages[:1]
    return tuple(language for language, count in zip(languages, votes, strict=True) if count >= enough)
