"""How near is near: the cosine below which a chunk that only vectors found is a guess, by model.

Calibrated on questions whose answer is in the index against questions of another set: docs/quality.md has both. A model
that was not measured has no floor, and nearness alone never makes its hits certain.
"""

from typing import Final

_FLOORS: Final = {"multilingual-e5-small-int8": 0.85}


def floor_of(model: str | None) -> float | None:
    """By the model's name without the number of its build."""
    return None if model is None else _FLOORS.get(model.partition(".")[0])
