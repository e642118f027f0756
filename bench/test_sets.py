"""The evaluation sets, which bring programs of their own and stand outside of this tree."""

import importlib.util
from pathlib import Path
from types import ModuleType


def load_module(path: Path) -> ModuleType:
    """A program of the sets, as a module named like its file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise SystemExit(f"{path}: cannot be loaded (give the folder of the test sets with --eval)")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
