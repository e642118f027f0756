"""Whether a built model is the model: fixed sentences against the vectors that the weights' own engine gives them."""

from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np

from index.embed.base import Refusal, Role
from index.embed.folder import read_folder
from index.embed.onnx_model import OnnxModel
from index.embed.vectors import values_of

_NEAR_ENOUGH: Final = 0.98
_REFERENCE: Final = "reference.txt"


def check_model(folder: Path) -> str | None:
    """What is wrong with the model in `folder`, or None."""
    with OnnxModel(read_folder(folder)) as model:
        for role, text, expected in _references():
            vector = model.vector(text, role)
            if isinstance(vector, Refusal):
                return vector.reason
            near = float(np.dot(np.asarray(values_of(vector)), expected))
            if not near >= _NEAR_ENOUGH:
                return f"a fixed sentence is {near:.3f} near its reference, {_NEAR_ENOUGH} is asked for"
    return None


def _references() -> list[tuple[Role, str, np.ndarray[tuple[int], np.dtype[np.float64]]]]:
    """Lines of role, text and hexadecimal bytes, separated by tabs: a vector's values as signed bytes of one scale."""
    references = []
    for line in files("index.embed.e5").joinpath(_REFERENCE).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        role, text, packed = line.split("\t")
        values = np.frombuffer(bytes.fromhex(packed), np.int8).astype(np.float64)
        references.append((Role(role), text, values / np.linalg.norm(values)))
    return references
