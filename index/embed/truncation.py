"""Finding out from token counts that a server cuts texts without saying so (retrieval-pitfalls.md, 38). Pure."""

from dataclasses import dataclass
from typing import Final

_PLATEAU_TEXTS: Final = 3
_PLATEAU_TOKENS: Final = 128
_BYTES_OF_A_TOKEN: Final = 12.0  # real tokenizers stay below 6 on prose and code; more were not read
_LONG_BYTES: Final = 4_000


@dataclass(slots=True)
class TokenWatch:
    """Fed with each answer that tells its tokens. `suspected` counts the answers that look cut."""

    max_tokens: int = 0
    suspected: int = 0
    _plateau: int = 0
    _sizes: frozenset[int] = frozenset()

    def saw(self, sizes_bytes: list[int], tokens: int | None) -> bool:
        """Whether this answer looks cut: at the model's bound, at the same count as other sizes, or far too few."""
        if tokens is None or not sizes_bytes:
            return False
        looks_cut = self._is_at_bound(len(sizes_bytes), tokens) or self._is_plateau(sizes_bytes, tokens)
        looks_cut = looks_cut or (max(sizes_bytes) > _LONG_BYTES and tokens * _BYTES_OF_A_TOKEN < sum(sizes_bytes))
        self.suspected += looks_cut
        return looks_cut

    def _is_at_bound(self, texts: int, tokens: int) -> bool:
        return self.max_tokens > 0 and tokens >= texts * self.max_tokens

    def _is_plateau(self, sizes_bytes: list[int], tokens: int) -> bool:
        """Texts of three different lengths, alone in their request, that all count as many tokens."""
        if len(sizes_bytes) != 1 or tokens < _PLATEAU_TOKENS:
            return False
        if tokens != self._plateau:
            self._plateau, self._sizes = tokens, frozenset()
        self._sizes |= frozenset(sizes_bytes)
        return len(self._sizes) >= _PLATEAU_TEXTS
