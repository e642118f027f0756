"""Whether a text asks, or names what is looked for.

A question is put in its asker's words, and meaning finds its answer; keywords, titles and lines that were copied are
put in the words of the text itself. The figures are in docs/quality.md. Pure.
"""

from typing import Final

from index.text.fold import fold, words

_OPENING_WORDS: Final = (
    "who whom whose what which when where why how can could does do did is are was were will would should may must "
    "co kdo komu kdy kde kam odkud proc jak jaky jaka jake ktery ktera ktere kolik cim muze muzu lze existuje "  # cs
    "kto preco ako aky ktory kolko mozem mozno "  # sk
    "wer wem was wann wo wohin woher warum wieso weshalb wie welche welcher welches wozu kann darf muss gibt "  # de
    "kto czy dlaczego jak gdzie kiedy ktory ile "  # pl
    "qui que quoi quel quelle quand comment pourquoi combien ou "  # fr
    "quien cual cuando donde como cuanto porque "  # es
    "chi cosa quale quando dove come perche quanto "  # it
    "wie wat waar waarom wanneer hoe welke hoeveel "  # nl
    "quem qual quando onde como porque quanto "  # pt
    "vem vad var nar varfor hur vilken vilka "  # sv
    "hvem hvad hva hvor hvornar hvorfor hvordan hvilken "  # da, no
    "kuka mika missa milloin miksi miten "  # fi
    "ki mi hol mikor miert hogyan melyik mennyi"  # hu
)
_OPENINGS: Final = frozenset(_OPENING_WORDS.split())
_MARKS: Final = ("?", "\uff1f", "\u061f", "\u055e")  # Latin, full width, Arabic, Armenian


def is_question(text: str) -> bool:
    """It ends with a question mark of some script, or opens as questions do."""
    stripped = text.rstrip(" \t\r\n\"'»”’)")
    if stripped.endswith(_MARKS):
        return True
    first = next(iter(words(text)), None)
    return first is not None and fold(first) in _OPENINGS
