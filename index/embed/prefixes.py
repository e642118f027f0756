"""The prefixes that well-known models were trained with, by the name a server knows them under.

Without them a model falls behind word search (retrieval-pitfalls.md, 43). The configuration wins; a model that is not
here gets none. Sources: the model cards.
"""

from typing import Final

_RETRIEVE: Final = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_REPRESENT: Final = "Represent this sentence for searching relevant passages: "

_KNOWN: Final = (  # part of the name, prefix of a query, prefix of a document; the first match counts
    ("e5-large-instruct", _RETRIEVE, ""),
    ("e5-mistral", _RETRIEVE, ""),
    ("qwen3-embedding", _RETRIEVE, ""),
    ("nomic-embed", "search_query: ", "search_document: "),
    ("embeddinggemma", "task: search result | query: ", "title: none | text: "),
    ("arctic-embed2", "query: ", ""),
    ("arctic-embed-l-v2", "query: ", ""),
    ("arctic-embed-m-v2", "query: ", ""),
    ("arctic-embed", _REPRESENT, ""),
    ("mxbai-embed", _REPRESENT, ""),
    ("bge-small-en", _REPRESENT, ""),
    ("bge-base-en", _REPRESENT, ""),
    ("bge-large-en", _REPRESENT, ""),
    ("e5-", "query: ", "passage: "),
)


def known_prefixes(model: str) -> tuple[str, str]:
    """Of a query and of a document."""
    name = model.casefold()
    for part, query, document in _KNOWN:
        if part in name:
            return query, document
    return "", ""
