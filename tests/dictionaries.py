"""The dictionary of inflected words, packed once for all workers of a run.

Each state folder keeps its own, and a new one packs it in the first refresh: a second of the processor, in which
nothing is tried that `text/test_lemmas.py` does not try. Tests that start the program on new folders put it there.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

_PACK = (
    "import sys; from pathlib import Path; from index.text.lemmas import paradigms; paradigms('en', Path(sys.argv[1]))"
)


@pytest.fixture(scope="session")
def dictionaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds it, as the program packs it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "dictionaries"
    folder.mkdir(exist_ok=True)
    with (folder.parent / "dictionaries.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([sys.executable, "-c", _PACK, str(folder)], check=True, cwd=Path(__file__).parents[1])
    return folder


def put_into(state: Path, dictionaries: Path) -> None:
    """Where the program looks for them. A file is never changed in place, so that all can share one."""
    models = state / "models"
    models.mkdir(parents=True, exist_ok=True)
    for file in dictionaries.iterdir():
        if not (models / file.name).exists():
            os.link(file, models / file.name)
