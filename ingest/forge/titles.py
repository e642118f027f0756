"""Titles of headings as clean text: no markup, no explicit id, no shortcode, no anchor. Pure."""

import html
import re
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

_ATTRIBUTES: Final = re.compile(
    r"[ \t]*\{(?:#|:[ \t]*#|:?[ \t]*\.|:[ \t]|%[^%\n]{0,200}%|/\*)[^{}\n]{0,300}\}?[ \t]*#*[ \t]*$"
)
_SHORTCODE: Final = re.compile(r"\{\{[<%]?[^{}\n]{0,300}[>%]?\}\}|\{%[^{}\n]{0,300}%\}")
_COMMENT: Final = re.compile(r"<!--.{0,500}?-->", re.DOTALL)
_MARKUP: Final = re.compile(r"[\\`*_\[\]<>&{}!~]")
_BLANKS: Final = re.compile(r"\s+")
_MAX_MARKUP: Final = 1_000  # code points; a longer heading is no heading, and inline parsing can be quadratic
_MAX_TITLE: Final = 200


def clean_title(markup: str) -> str:
    """The words of a heading. At most 200 code points; may be empty."""
    if not _MARKUP.search(markup):  # most are plain, and parsing costs a tenth of a millisecond
        return shortened(" ".join(markup.split()))
    markup = _COMMENT.sub(" ", markup[:_MAX_MARKUP])
    markup = _SHORTCODE.sub(" ", _ATTRIBUTES.sub("", markup))
    words = "".join(_words(token) for token in _inline().parseInline(markup))
    return shortened(_BLANKS.sub(" ", words).strip())


def html_title(markup: str) -> str:
    """The words of a piece of HTML, for a page whose title is an `<h1>`."""
    return shortened(_BLANKS.sub(" ", html.unescape(re.sub(r"<[^<>]{0,500}>", " ", markup[:_MAX_MARKUP]))).strip())


def shortened(title: str) -> str:
    if len(title) <= _MAX_TITLE:
        return title
    return title[:_MAX_TITLE].rsplit(" ", 1)[0] + "…"


@cache
def _inline() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _words(token: Token) -> str:
    if token.type in {"softbreak", "hardbreak"}:
        return " "
    if token.type == "html_inline":
        return ""
    if token.children is not None:
        return "".join(_words(child) for child in token.children)
    return token.content
