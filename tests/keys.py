"""In place of `Keys.document_keys` where keys do not matter."""

from index.text.fold import words
from index.text.tally import tally_of
from index.text.vocabulary import Keyed


def as_written(title: str, text: str) -> Keyed:
    """Title and text themselves."""
    keys = f"{title}\n{text}"
    return Keyed(len(words(keys)), keys, tally_of(title, text, keys))
