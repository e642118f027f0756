"""What people type after `sources search`, made into texts. Pure.

Words typed without quotes are one text; each quoted argument is a text of its own. `-word` excludes a word and is no
option. Operators that stand beside quoted texts count for each of them.
"""

import re
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final

from index.text.filters import OPERATORS

_OPERATOR: Final = re.compile(rf"-?(?:{'|'.join(OPERATORS)}):\S+|-\S+")


def texts_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """The texts to search for, at least one unless there are no arguments."""
    words = [_requoted(argument) for argument in arguments if argument.strip()]
    if not any(_is_text(word) for word in words):
        return (" ".join(words),) if words else ()
    operators = [word for word in words if _is_operator(word)]
    return tuple(" ".join((word, *operators)) for word in words if not _is_operator(word))


def _requoted(argument: str) -> str:
    """`-two words` was `-"two words"` before the shell took its quotes."""
    if argument.startswith("-") and " " in argument and '"' not in argument:
        return f'-"{argument[1:]}"'
    return argument


def _is_operator(word: str) -> bool:
    return _OPERATOR.fullmatch(word) is not None or word.startswith('-"')


def _is_text(word: str) -> bool:
    return any(c.isspace() for c in word) and not _is_operator(word)


def shielded(arguments: Sequence[str], *, flags: Collection[str], valued: Collection[str]) -> list[str]:
    """Options first, then `--`, then everything else in its order: so `-word` reaches the command as a text.

    `flags` are options without a value, `valued` those with one, both spelt with their dashes. What looks like a long
    option stays one, so that a mistyped one is an error and not a search.
    """
    options: list[str] = []
    texts: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            texts.extend(rest)
        elif argument in valued:
            options.append(argument)
            options.extend(islice(rest, 1))
        elif argument.startswith("--") or _is_short(argument, flags, valued):
            options.append(argument)
        else:
            texts.append(argument)
    return [*options, "--", *texts]


def _is_short(argument: str, flags: Collection[str], valued: Collection[str]) -> bool:
    """`-v`, `-vq`, `-n5`; an excluded word that spells only flags has to stand after `--`."""
    if not argument.startswith("-") or argument == "-":
        return False
    if argument[:2] in valued:
        return argument[2:].isdigit()
    return all(f"-{letter}" in flags for letter in argument[1:])
