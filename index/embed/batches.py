"""Cutting many texts into batches for one request each. Pure."""

from collections.abc import Sequence


def batches(sizes: Sequence[int], *, max_bytes: int, max_texts: int) -> list[list[int]]:
    """Positions of texts grouped by similar size, longest first; every position is in exactly one batch.

    A batch keeps to both bounds; a text larger than `max_bytes` stands alone. Longest first, so that a model that is
    too big for its machine shows it at once and the last batches are the short ones.
    """
    cut: list[list[int]] = []
    room = 0
    for position in sorted(range(len(sizes)), key=lambda at: (-sizes[at], at)):
        if not cut or sizes[position] > room or len(cut[-1]) >= max_texts:
            cut.append([])
            room = max_bytes
        cut[-1].append(position)
        room -= sizes[position]
    return cut
