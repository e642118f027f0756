"""Paradigms: all forms of the word that a form belongs to. Only for indexing.

The dictionaries that they come from take seconds and a hundred megabytes to load, so that what is needed of one is
packed and kept in a file, which the next process maps. The file, in the machine's byte order: magic, the checksum of
what comes after the head, the number of entries and of lemmas, the bytes of text; entries, sorted, with a form's
checksum above the number of its lemma; where the text of each lemma ends; the texts, in which each form stands behind a
line feed.

Nothing here may be imported on the query path.
"""

import gc
import mmap
import struct
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Final
from zlib import crc32

_NONE: Final[Sequence[str]] = ()
_HEAD: Final = struct.Struct("=8s4Q")
_MAGIC: Final = b"FORMS-01"
_GROUP_BITS: Final = 24  # of an entry; more lemmas than any language has


class Paradigms:
    """What one language's dictionary knows about inflection. Bytes that are not as `pack` makes them: `ValueError`.

    A checksum may lead astray, so that a form counts only where it is found.
    """

    def __init__(self, packed: bytes | mmap.mmap) -> None:
        data = memoryview(packed)
        if len(data) < _HEAD.size:
            raise ValueError("too short")
        magic, checksum, entries, lemmas, size = _HEAD.unpack_from(data)
        ends = _HEAD.size + 8 * entries
        text = ends + 4 * lemmas
        if magic != _MAGIC or len(data) != text + size or crc32(data[_HEAD.size :]) != checksum:
            raise ValueError("not of this format, or damaged")
        self._entries = data[_HEAD.size : ends].cast("Q")
        self._ends = data[ends:text].cast("I")
        self._text = data[text:]

    def forms(self, word: str) -> Sequence[str]:
        """Every known form of the word, itself included; empty for a word that is not in the dictionary."""
        return self._with(word) or self._with(word.lower()) or self._with(word.capitalize())

    def _with(self, form: str) -> Sequence[str]:
        first = _entry(form, 0)
        for place in range(bisect_left(self._entries, first), len(self._entries)):
            if self._entries[place] >> _GROUP_BITS != first >> _GROUP_BITS:
                break
            group = self._entries[place] & ((1 << _GROUP_BITS) - 1)
            start = self._ends[group - 1] if group else 0
            forms = bytes(self._text[start : self._ends[group]]).decode().split("\n")[1:]
            if form in forms:
                return forms
        return _NONE


def pack(lemma_of: Mapping[str, str]) -> bytes:
    """A dictionary of forms and their lemmas as `Paradigms` reads it; its forms keep their order."""
    groups: dict[str, int] = {}
    texts: list[bytearray] = []
    entries = []
    for form, lemma in lemma_of.items():
        group = groups.setdefault(lemma, len(groups))
        if group == len(texts):
            texts.append(bytearray())
        texts[group] += b"\n" + form.encode()
        entries.append(_entry(form, group))
    entries.sort()
    ends = array("I")
    past = 0
    for text in texts:
        past += len(text)
        ends.append(past)
    body = b"".join([array("Q", entries).tobytes(), ends.tobytes(), *texts])
    return _HEAD.pack(_MAGIC, crc32(body), len(entries), len(ends), past) + body


def _entry(form: str, group: int) -> int:
    return crc32(form.encode()) << _GROUP_BITS | group


_loaded: dict[str, Paradigms] = {}


def paradigms(code: str, folder: Path | None = None) -> Paradigms:
    """Of a language that `index.text.languages` says has some, loaded once in a process.

    In `folder` they are kept for the next one. A file there that is missing, damaged or of another version is made
    anew; one that cannot be written costs only that the next process loads the dictionary as this one did.
    """
    if code not in _loaded:
        _loaded[code] = _packed(code) if folder is None else _kept(code, folder)
    return _loaded[code]


def _kept(code: str, folder: Path) -> Paradigms:
    path = folder / f"forms-{code}-{version('simplemma')}.bin"
    try:
        return _mapped(path)
    except (OSError, ValueError):
        return _packed(code, path)


def _mapped(path: Path) -> Paradigms:
    with path.open("rb") as file:
        return Paradigms(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _packed(code: str, path: Path | None = None) -> Paradigms:
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory  # slow, index time only

    packed = pack(DefaultDictionaryFactory().get_dictionary(code))
    gc.collect()  # a factory refers to itself, and would hold its dictionary, tens of megabytes, for who knows how long
    if path is not None:
        _keep(path, packed)
    return Paradigms(packed)


def _keep(path: Path, packed: bytes) -> None:
    unfinished = path.with_name(f".{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(packed)
        unfinished.replace(path)
        for other in path.parent.glob(f"{path.name.rpartition('-')[0]}-*.bin"):
            if other != path:
                other.unlink()
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
