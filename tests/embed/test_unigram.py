"""The small tokenizer gives the tokens of the library's, for any text."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from index.embed import EmbedderIdentity
from index.embed.e5.build import build_e5
from index.embed.folder import read_folder
from index.embed.tokens import LibraryTokenizer
from index.embed.unigram import _NMT, FILE_NAME, UnigramTokenizer
from index.errors import EmbedderError

Pair = tuple[UnigramTokenizer, LibraryTokenizer]


@pytest.fixture(scope="module")
def pair(cache_dir: Path) -> Pair:
    folder = read_folder(build_e5(cache_dir))
    return UnigramTokenizer(folder.path / FILE_NAME), LibraryTokenizer(folder)


words = st.sampled_from(
    [
        "query:",
        "záloha",
        "Zálohy",
        "backup",
        "systemd-timer",
        "SendAsync()",
        "日本語",
        "👨‍👩‍👧",
        "</s>",
        "▁",
        "e\u0301",
        "ﬁ",
    ]
)


@settings(max_examples=300)
@given(st.text(max_size=60) | st.lists(words, max_size=12).map(" ".join))
@example("")
@example("query: how do I restore   the\tbackup?\n")
@example("\U0001f9ff\U0001f9ff unknown \U00013000\U00013001")
@example("a\u00a0b\u3000c\u2028d\u200be\ufefff\x00g\x7fh")
def test_it_gives_the_same_tokens_as_the_library(pair: Pair, text: str) -> None:
    small, library = pair
    assert small.windows(text) == library.windows(text)


def test_long_texts_are_cut_into_the_same_windows(pair: Pair) -> None:
    small, library = pair
    text = "Zálohy se ukládají každou noc ve dvě hodiny. " * 120
    assert small.windows(text) == library.windows(text)
    assert {len(window) for window in small.windows(text)[:-1]} == {512}


def test_single_characters_are_normalised_as_in_the_library() -> None:
    from tokenizers import normalizers

    library = normalizers.Nmt()
    every = "a".join(chr(code) for code in range(1, 0x30000) if not 0xD800 <= code < 0xE000)
    assert library.normalize_str(every).split("a") == every.translate(_NMT).split("a")


def test_a_damaged_vocabulary_is_one_clear_error(tmp_path: Path) -> None:
    for content in (b"", b"UNIGRAM1", b"something else entirely, of some length", b"UNIGRAM1" + b"\xff" * 40):
        (tmp_path / FILE_NAME).write_bytes(content)
        with pytest.raises(EmbedderError, match="vocabulary"):
            UnigramTokenizer(tmp_path / FILE_NAME)


def test_the_identity_names_the_build() -> None:
    from index.embed.e5 import BUILD, IDENTITY

    assert isinstance(IDENTITY, EmbedderIdentity)
    assert IDENTITY.name.endswith(f".{BUILD}")
