"""The Snowball stemmers, loaded one by one.

The package's own entry imports some thirty languages, and gives way to a C library of another version where one is
installed. Keys must be the same on every machine, so the modules are taken directly, under a name of our own.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from types import ModuleType
from typing import Final

_ALIAS: Final = "index.text._snowball"


@cache
def stemmer(name: str) -> Callable[[str], str]:
    """The stemmer of one language by its Snowball name; takes a word in lower case."""
    if _ALIAS not in sys.modules:
        spec = find_spec("snowballstemmer")
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError("snowballstemmer is not installed")
        package = ModuleType(_ALIAS)
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules[_ALIAS] = package
    module = import_module(f"{_ALIAS}.{name}_stemmer")
    made = getattr(module, f"{name.title().replace('_', '')}Stemmer")()
    lock = Lock()  # a stemmer keeps the word it works on in itself

    def stem(word: str) -> str:
        with lock:
            return str(made.stemWord(word))

    return stem
