"""Dictionaries of word forms are loaded once, kept packed, and made anew when the file is not what it should be."""

import mmap
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.text.lemmas import Paradigms, pack

LEMMA_OF = {"ran": "run", "run": "run", "runs": "run", "Praze": "Praha", "Praha": "Praha", "mice": "mouse"}
# English is the smallest of the dictionaries. Says what it found, and whether it had to load the dictionary for it.
PROGRAM = (
    "import sys; from pathlib import Path; from index.text.words import Keys;"
    "found = Keys(('en',), forms_dir=Path(sys.argv[1])).keys_of_text('it ran');"
    "print('en0run' in found.split(), 'simplemma' in sys.modules)"
)


@given(st.dictionaries(st.text(st.characters(exclude_characters="\n", codec="utf-8"), min_size=1), st.text("abc")))
def test_packed_forms_are_those_of_the_dictionary(lemma_of: dict[str, str]) -> None:
    packed = Paradigms(pack(lemma_of))
    for form, lemma in lemma_of.items():
        assert list(packed.forms(form)) == [other for other, of in lemma_of.items() if of == lemma]
    for form in ("nowhere", "", "é"):
        if not {form, form.lower(), form.capitalize()} & lemma_of.keys():
            assert list(packed.forms(form)) == []


def test_a_word_is_found_in_the_case_that_a_sentence_gave_it() -> None:
    packed = Paradigms(pack(LEMMA_OF))
    assert list(packed.forms("Ran")) == ["ran", "run", "runs"]
    assert list(packed.forms("praze")) == ["Praze", "Praha"]


@pytest.mark.parametrize("place", range(0, len(pack(LEMMA_OF)), 5))
def test_a_file_with_one_wrong_byte_or_without_its_end_is_none(place: int) -> None:
    packed = pack(LEMMA_OF)
    with pytest.raises(ValueError):
        Paradigms(packed[:place])
    with pytest.raises(ValueError):
        Paradigms(packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :])


def run(folder: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], check=True, capture_output=True, text=True
    ).stdout


def test_the_next_process_maps_what_the_first_one_packed_unless_it_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    old = folder / "forms-en-0.0.1.bin"
    folder.mkdir()
    old.touch()
    assert run(folder) == "True True\n"
    (kept,) = folder.iterdir()
    assert kept.name != old.name
    assert run(folder) == "True False\n"
    with kept.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        data[len(data) // 2] ^= 1
    assert run(folder) == "True True\n"
    assert run(folder) == "True False\n"


def test_where_nothing_can_be_kept_words_are_found_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "models").touch()  # no folder, and none can be made here
    assert run(tmp_path / "models") == "True True\n"
    assert [one.name for one in tmp_path.iterdir()] == ["models"]
