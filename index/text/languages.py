"""The languages whose inflection is known: where their stemmer is, and how their texts are told apart.

A text is read in the languages whose function words it has. A query is too short for that and is read in all.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from index.errors import ConfigError
from index.text.fold import beyond_ascii, fold

_SHARE_OF_BEST: Final = 0.2
_REMEMBERED: Final = 16_384  # words
_LONGEST_REMEMBERED: Final = 40  # longer ones hardly come again
_VOTES_BITS: Final = 21
"""Of the sum of votes for one language: three have room in a number that is added up in no time."""
_MOST_VOTES: Final = (1 << _VOTES_BITS) - 1
_WITH_PARADIGMS: Final = ("en", "cs", "sk")


class Language(Struct, frozen=True, eq=False):  # one of each: compared and hashed once a word, so by identity
    code: str
    stemmer: str | None  # its name in Snowball; None: our own rules
    letters: frozenset[str]  # those that set it apart, in lower case; none is ASCII
    function_words: frozenset[str]  # folded
    has_paradigms: bool = False  # of the dictionaries, only those that gain and fit: German takes 250 MB


def _language(code: str, stemmer: str | None, letters: str, function_words: str) -> Language:
    return Language(code, stemmer, frozenset(letters), frozenset(function_words.split()), code in _WITH_PARADIGMS)


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


@lru_cache(4)
def _common(languages: tuple[Language, ...]) -> Mapping[str, int]:
    """The votes of function words, folded."""
    votes: dict[str, int] = {}
    for place, language in enumerate(languages):
        for word in language.function_words:
            votes[word] = votes.get(word, 0) | 1 << _VOTES_BITS * place
    return votes


class _Votes(dict[str, int]):
    """Those of words as written. Made when they are asked for."""

    def __init__(self, languages: tuple[Language, ...]) -> None:
        super().__init__()
        self._languages = languages

    def __missing__(self, word: str) -> int:
        votes = votes_of(word, self._languages)
        if len(self) >= _REMEMBERED:
            self.clear()
        if len(word) <= _LONGEST_REMEMBERED:
            self[word] = votes
        return votes


_remembered_votes: Final = lru_cache(4)(_Votes)


def votes_of(word: str, languages: tuple[Language, ...]) -> int:
    """For which of `languages` a word of a text votes: those that it is a function word of. To be added up."""
    return _common(languages).get(fold(word), 0)


def spoken(words: Iterable[str], text: str, languages: tuple[Language, ...]) -> tuple[Language, ...]:
    """Those of `languages` a text is written in, by its function words and letters; the first where it has none."""
    if len(languages) < 2:
        return languages
    return spoken_by(sum(map(_remembered_votes(languages).__getitem__, words)), text, languages)


def spoken_by(votes_of_words: int, text: str, languages: tuple[Language, ...]) -> tuple[Language, ...]:
    """The same by the sum of `votes_of` its words."""
    if len(languages) < 2:
        return languages
    votes = [votes_of_words >> _VOTES_BITS * place & _MOST_VOTES for place in range(len(languages))]
    if not text.isascii():
        lowered = beyond_ascii(text).lower()
        present = set(lowered)
        votes = [
            vote + sum(map(lowered.count, present & language.letters))
            for vote, language in zip(votes, languages, strict=True)
        ]
    enough = max(votes) * _SHARE_OF_BEST
    if not enough:
        return languages[:1]
    return tuple(language for language, count in zip(languages, votes, strict=True) if count >= enough)
