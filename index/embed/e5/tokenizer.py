"""The tokenizer of multilingual-e5-small for the `tokenizers` library, from the pieces in the weights file.

Its normaliser there is a map of code points. That map is NMT's rules followed by NFKC (all but two of a million code
points agree), which the library has, and which composes accents written apart, as the map alone could not.
"""

from typing import Final

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from index.embed.e5.weights import Pieces
from index.errors import EmbedderError

_NEVER: Final = -1000.0
"""Score of `<s>`, `</s>` and their like: written in a text they are text, and no text may act as one of them."""
_DIFFERENT_AT_MOST: Final = 8


def usable_scores(pieces: Pieces) -> list[float]:
    special = {pieces.begin, pieces.end, pieces.padding, pieces.unknown, len(pieces.texts) - 1}
    return [_NEVER if place in special else score for place, score in enumerate(pieces.scores)]


def make_tokenizer(pieces: Pieces) -> Tokenizer:
    scored = list(zip(pieces.texts, usable_scores(pieces), strict=True))
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=pieces.unknown, byte_fallback=False))
    letters = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    _check_normaliser(letters, pieces)
    tokenizer.normalizer = normalizers.Sequence([letters, normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    begin, end = pieces.texts[pieces.begin], pieces.texts[pieces.end]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, pieces.begin), (end, pieces.end)]
    )
    return tokenizer


def _check_normaliser(letters: normalizers.Normalizer, pieces: Pieces) -> None:
    different = sum(letters.normalize_str(char) != form for char, form in pieces.normal_forms.items())
    if different > _DIFFERENT_AT_MOST:
        raise EmbedderError(
            f"e5 tokenizer: {different} characters would be normalised otherwise than the model was trained with"
            " (install the versions of constraints.txt)"
        )
