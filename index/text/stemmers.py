"""The Snowball stemmers, in C: a first ingest takes the stems of every form of every word that it meets."""

from collections.abc import Callable
from functools import cache
from threading import Lock

from Stemmer import Stemmer


@cache
def stemmer(name: str) -> Callable[[str], str]:
    """The stemmer of one language by its Snowball name; takes a word in lower case."""
    made = Stemmer(name, 0)  # without a cache of its own: who asks remembers
    lock = Lock()  # a stemmer keeps the word it works on in itself

    def stem(word: str) -> str:
        with lock:
            return str(made.stemWord(word))

    return stem
