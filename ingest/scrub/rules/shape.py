"""How the rules of known token formats are written down: borders, and a validator that leaves placeholders alone."""

import re
from collections.abc import Callable
from typing import Final

from ingest.scrub.model import NOTHING, Gate, Rule, Spans, Validator, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.shapes import is_random, is_slug

START: Final = r"(?:(?<![0-9A-Za-z_])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=_)(?<![0-9A-Za-z]_))"
"""A token begins where no letter or digit stands before it, an escaped line end, a percent escape and the sign of
slanted text apart."""
STARTED: Final = r"(?:(?<![0-9A-Za-z_].)|(?<=\\[nrt].)|(?<=%[0-9A-Fa-f][0-9A-Fa-f].)|(?<=_.)(?<![0-9A-Za-z]_.))"
"""The same for its first character, after that has been read: a search for one of a few characters is fast."""


NUMBERED_WORDS: Final = re.compile(r"(?:[a-z]{2,}+\d{0,3}_)++[a-z]{2,}+\d{0,3}")
"""`create_bigint_int64`: what follows a prefix in the name of a function."""


def drawn(least: int = 12) -> Validator:
    """Refuses what is made of words or meant as a placeholder; for prefixes that words begin with as well."""

    def check(match: re.Match[str], text: str) -> Spans:
        value = match["s"]
        body = drawn_part(match)
        if (
            not is_random(body, least)
            or is_placeholder(value, quoted=True)
            or is_placeholder(body, quoted=True)
            or is_slug(body)
            or ("_" in body and NUMBERED_WORDS.fullmatch(body))
        ):
            return NOTHING
        return token_span(match)

    return check


ESCAPED_BORDER: Final = re.compile("%(?:2[0267C]|3[CE]|[57]D|0[AD])", re.I)
"""Blanks, quotes, brackets and signs between parameters, as addresses write them: no token has one."""


def token_span(match: re.Match[str]) -> Spans:
    """Without a sign that ends the sentence, not the token, and what stands behind it."""
    value = match["s"]
    if "%" in value and (border := ESCAPED_BORDER.search(value)):
        value = value[: border.start()]
    start = match.start("s")
    if match.string[start - 1 : start] == "_":
        value = value.rstrip("_")  # the end of slanted text
    return ((start, start + len(value.rstrip(".,"))),)


def drawn_part(match: re.Match[str]) -> str:
    """The group `b`, or all of the secret."""
    part: str | None = match["b"] if "b" in match.re.groupindex else None
    return part or match["s"]


def not_placeholder(match: re.Match[str], text: str) -> Spans:
    if is_placeholder(match["s"], quoted=True) or is_placeholder(drawn_part(match), quoted=True):
        return NOTHING
    return token_span(match)


def token(
    name: str,
    why: str,
    shape: str,
    opens: Gate,
    finds: tuple[str, ...],
    leaves: tuple[str, ...],
    *,
    worst: str,
    kind: str = "",
    validate: Validator | None = None,
    first: str = "",
) -> Rule:
    """A format that begins with a prefix of its own. `shape` has the group `b` for the part that was drawn.

    The gate's literals are how it begins, unless `first` says with which characters it does; `shape` is then the rest.
    """
    return Rule(
        name=name,
        kind=kind or name,
        why=why,
        pattern=re.compile(f"(?P<s>[{first}]{STARTED}{shape})" if first else f"{START}(?P<s>{shape})"),
        is_anchored=not first,
        gate=opens,
        finds=finds,
        leaves=leaves,
        worst=worst,
        validate=validate or drawn(),
    )


def checked(is_checked: Callable[[str], bool], least: int = 12) -> Validator:
    """A good checksum decides; without one the value has to look drawn."""
    otherwise = drawn(least)

    def check(match: re.Match[str], text: str) -> Spans | None:
        return token_span(match) if is_checked(match["s"]) else otherwise(match, text)

    return check


__all__ = ["START", "checked", "drawn", "gate", "not_placeholder", "token", "token_span"]
