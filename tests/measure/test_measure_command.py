"""`sources measure`: synthetic corpora from real text, in a place of their own, and figures that hold."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from click import BadParameter
from click.testing import CliRunner

from index.embed.base import Role
from index.embed.hashing import HashingEmbedder
from index.errors import BusyError, ConfigError, StoreError
from index.model import Vector
from ingest.lock import write_lock
from sources.cli.common import Invocation
from sources.cli.exits import Exit
from sources.cli.measure import command
from sources.config.load import load
from sources.credentials import Credentials
from sources.measuring.corpus import embedded
from sources.measuring.memory import memory_of
from sources.measuring.neighbours import Neighbours
from sources.measuring.run import check_disk
from sources.measuring.texts import Texts, passages
from sources.measuring.trial import Setting, exact_nearest, in_a_process, times_of

ROOT = Path(__file__).parents[2]
RUN = ("-c", "from sources.cli.main import main; main()")
WORDS = ["harbour", "lantern", "copper", "meadow", "thistle", "granite", "willow", "ember", "saddle", "anchor"]
PASSAGES = [f"the {one} stood beside a {other} while nobody looked at number {n}" for n, (one, other) in enumerate(
    (one, other) for one in WORDS for other in WORDS if one != other
)]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A configuration without an index, in a language without a dictionary; texts; and what a killed run left."""
    state = tmp_path / "state"
    (state / "sources-measure" / "500").mkdir(parents=True)
    (state / "sources-measure" / "500" / "index.sqlite").write_bytes(b"half of it")
    (tmp_path / "sources.toml").write_text(
        f'state_dir = "{state}"\n[index]\nlanguages = ["de"]\n[embed]\nkind = "hashing"\ndimension = 32\n'
    )
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "page.md").write_text("\n\n".join(PASSAGES))
    (tmp_path / "texts" / "image.png").write_bytes(bytes(range(256)))
    return tmp_path


def _measure(place: Path, *options: str) -> str:
    said = CliRunner().invoke(
        command,
        ["--config", str(place / "sources.toml"), "--questions", "10", *options],
        obj=Invocation(),
        standalone_mode=False,
        catch_exceptions=False,
    )
    return said.stdout


def test_two_sizes_are_measured_and_nothing_is_left(place: Path) -> None:
    told = json.loads(_measure(place, "--sizes", "200,500", "--text", str(place / "texts"), "--json"))
    assert (told["version"], told["engine"], told["embedder"], told["note"]) == (1, "sqlite", "hashing-32", None)
    assert [trial["chunks"] for trial in told["trials"]] == [200, 500]
    for trial in told["trials"]:
        assert trial["recall_at_10"] >= 0.8, "the index of this size is searched whole: only rounding may differ"
        assert trial["file_bytes"] > 300 * trial["chunks"]
        assert trial["ingest_seconds"] > trial["vectors_seconds"] > 0
        assert trial["writer_peak_bytes"] > 10_000_000
        assert trial["reader_peak_bytes"] >= trial["reader_resident_bytes"] > 10_000_000
        for kind in ("lexical", "vector", "hybrid"):
            assert 0 < trial[kind]["p50_ms"] <= trial[kind]["p95_ms"]
    assert sorted(file.name for file in (place / "state").iterdir()) == ["sources-measure.lock"]


def test_without_texts_there_is_nothing_to_measure_with(place: Path) -> None:
    with pytest.raises(ConfigError, match="the index is empty: nothing to measure with"):
        _measure(place)
    (place / "none").mkdir()
    with pytest.raises(ConfigError, match="holds no Markdown and no text"):
        _measure(place, "--text", str(place / "none"))
    with pytest.raises(ConfigError, match="is no folder"):
        _measure(place, "--text", str(place / "missing"))


def test_two_measurements_do_not_share_a_place(place: Path) -> None:
    with (
        write_lock(place / "state" / "sources-measure.lock"),
        pytest.raises(BusyError, match="another measurement is running"),
    ):
        _measure(place, "--text", str(place / "texts"))
    assert (place / "state" / "sources-measure" / "500").is_dir()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_ended_in_the_middle_no_process_stays_and_no_text_past_the_next_refresh(
    place: Path, ending: signal.Signals
) -> None:
    """What it writes are copies of what the index holds, and the index may have to forget some of that."""
    options = ["--config", str(place / "sources.toml"), "measure", "--sizes", "20000", "--text", str(place / "texts")]
    scratch = place / "state" / "sources-measure"
    with subprocess.Popen([sys.executable, *RUN, *options], cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        _until((scratch / "20000" / "index.sqlite").exists)
        children = _children(process.pid)
        process.send_signal(ending)
        assert process.wait(30) == (-ending if ending is signal.SIGKILL else Exit.INTERRUPTED)
    assert children
    _until(lambda: not any(map(_is_alive, children)))
    assert scratch.exists() == (ending is signal.SIGKILL)
    subprocess.run([sys.executable, *RUN, *options[:2], "--quiet", "refresh"], cwd=ROOT, check=True)
    assert not scratch.exists()


def test_a_process_that_runs_out_of_memory_is_told_of(place: Path) -> None:
    setting = Setting(load(place / "sources.toml"), Credentials(None), (), None, (), 1)
    with pytest.raises(StoreError, match=r"the process for 9 chunks was ended from outside \(give smaller --sizes"):
        in_a_process(_ended_by_the_kernel, setting, 9)


def _ended_by_the_kernel(_setting: Setting, _chunks: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _children(process: int) -> list[int]:
    names = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [one for one in names if (fields := _stat(one)) and int(fields[1]) == process]


def _is_alive(process: int) -> bool:
    return _stat(process)[:1] not in ([], ["Z"])


def _stat(process: int) -> list[str]:
    """State, parent and so on; empty when it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.mark.parametrize("sizes", ["", "0", "1,", "ten", "-5", "99999999999", "²"])
def test_a_size_that_is_none_is_refused(place: Path, sizes: str) -> None:
    with pytest.raises(BadParameter, match="expected numbers from 1"):
        _measure(place, "--sizes", sizes)


def test_a_disk_that_is_too_small_is_said_before_anything_is_written() -> None:
    with pytest.raises(StoreError, match=r"1000000 chunks need about 9\.4 GB of disk, 1\.0 GB are free \(give smaller"):
        check_disk(10**9, 1_000_000, mean_bytes=500.0, dimension=384)
    check_disk(10**9, 1_000, mean_bytes=500.0, dimension=384)


def test_texts_repeat_the_real_ones_and_vary_them() -> None:
    texts = Texts(PASSAGES)
    assert [texts.passage(number) for number in range(len(PASSAGES))] == PASSAGES
    again = [texts.passage(number + len(PASSAGES)) for number in range(len(PASSAGES))]
    assert again == [Texts(PASSAGES).passage(number + len(PASSAGES)) for number in range(len(PASSAGES))]
    assert len({*again, *PASSAGES}) > 1.6 * len(PASSAGES)
    assert {word for text in again for word in text.split(" ")} <= {w for text in PASSAGES for w in text.split(" ")}
    assert set(texts.question(3, 20).split(" ")) <= {word for text in PASSAGES[:20] for word in text.split(" ")}
    with pytest.raises(ValueError, match="long enough"):
        Texts(["too short"])


def test_passages_hold_all_words_of_a_text_and_none_is_huge() -> None:
    text = "\n\n".join([*PASSAGES, " ".join(PASSAGES * 3)])
    cut = list(passages(text, size_bytes=300))
    assert " ".join(cut).split() == text.split()
    assert max(len(one.encode()) for one in cut) < 1_000


async def test_a_text_has_one_vector_of_length_one_whatever_stands_beside_it() -> None:
    near = await _neighbours()
    rows = near.vectors(["a", "b", "c"])
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert numpy.allclose(near.vectors(["c"])[0], rows[2])
    assert not numpy.allclose(rows[0], rows[1])


async def test_the_exact_nearest_are_those_of_one_large_matrix() -> None:
    near, texts, size = await _neighbours(), Texts(PASSAGES), 2_503  # more than one block, and no whole page
    pairs = list(embedded(texts, size))
    questions = near.vectors(["one", "two"])
    cosines = questions @ near.vectors([text for _, text in pairs]).T
    expected = [[pairs[place][0] for place in numpy.argsort(-row)[:10]] for row in cosines]
    assert len(pairs) == size
    assert exact_nearest(near, texts, size, questions) == expected


def test_percentiles_are_times_that_were_taken() -> None:
    times = times_of([float(number) for number in range(100, 0, -1)])
    assert (times.p50_ms, times.p95_ms) == (50.0, 95.0)
    assert times_of([7.0]).p95_ms == 7.0


def test_a_process_that_is_gone_has_no_memory() -> None:
    own = memory_of()
    assert own is not None
    assert own.peak >= own.resident > 1_000_000
    assert memory_of(2**22 + 1) is None


async def _neighbours() -> Neighbours:
    hashing = HashingEmbedder(32)
    sample = await hashing.embed(PASSAGES[:20], Role.DOCUMENT)
    return Neighbours(hashing.identity, [Vector(one) for one in sample if isinstance(one, bytes)])
