"""What a refresh costs when nothing happened, and whether one changed file is all that is embedded.

    python -m bench.refresh [--repositories 10] [--files 200] [--runs 9]

Local repositories of Markdown, refreshed by the program's own command in a process of its own. Beside it, in turn with
it, runs a bare interpreter that imports the same modules and ends: the target is less than three times that. Then one
file is changed, and the parts embedded are counted against those of that file.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

from bench.output import load, say
from bench.processes import Finished, run_alone
from index.store.store import open_store
from tests.forge.git_repos import Origin

_PROGRAM = "from sources.cli.main import main; main()"
_LISTED = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=open({file!r}, 'w'))); " + _PROGRAM
_TARGET = 3.0
_WORDS = ["key", "lamp", "river", "stone", "bread", "window", "letter", "garden", "engine", "paper", "bridge", "winter"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", type=int, default=10)
    parser.add_argument("--files", type=int, default=200, help="in all repositories together")
    parser.add_argument("--runs", type=int, default=9)
    asked = parser.parse_args()
    say(load())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        draw = random.Random(1)
        each = asked.files // asked.repositories
        origins = []
        for number in range(asked.repositories):
            origin = Origin.at(folder / "origins" / f"r{number}.git")
            origin.commit({f"page{file}.md".encode(): _page(draw) for file in range(each)})
            origins.append(origin)
        config = _configure(folder, origins)
        refresh = [sys.executable, "-c", _PROGRAM, "--config", str(config), "refresh", "--json"]
        first = run_alone(refresh)
        say(f"first: {first.seconds:.2f} s, {_told(first)['vectors']['embedded']} parts embedded")
        _nothing_new(refresh, _imported(refresh, folder), asked.runs)
        parts = asyncio.run(_parts(folder / "state" / "index.sqlite", "page3.md", "repo:r0"))
        origins[0].commit({b"page3.md": _page(draw, headings=3)})
        changed = _told(run_alone(refresh))
        now = asyncio.run(_parts(folder / "state" / "index.sqlite", "page3.md", "repo:r0"))
        embedded = changed["vectors"]["embedded"]
        say(f"one file of {each * len(origins)} changed: {embedded} parts embedded; it has {now} parts (had {parts})")
        if embedded > now:
            raise SystemExit("more was embedded than the file has")


def _nothing_new(refresh: list[str], bare: list[str], runs: int) -> None:
    refreshed, started = [], []
    for _ in range(runs):
        started.append(run_alone(bare))
        refreshed.append(run_alone(refresh))
        if _told(refreshed[-1])["changed"]:
            raise SystemExit(f"something was new: {refreshed[-1].output}")
    seconds = [run.seconds for run in refreshed], [run.seconds for run in started]
    work = [run.cpu_seconds for run in refreshed], [run.cpu_seconds for run in started]
    say(f"nothing new: {_pair(seconds)}; processor time {_pair(work)}; target below {_TARGET}")


def _pair(times: tuple[list[float], list[float]]) -> str:
    refreshed, started = map(statistics.median, times)
    ratio = statistics.median(one / other for one, other in zip(*times, strict=True))
    return f"{refreshed:.2f} s against {started:.2f} s of a bare start with the same imports, ratio {ratio:.2f}"


def _imported(refresh: list[str], folder: Path) -> list[str]:
    """A command that imports what a refresh in which nothing happens imports, and nothing else."""
    listing = folder / "modules"
    run_alone([refresh[0], "-c", _LISTED.format(file=str(listing)), *refresh[3:]])
    names = [name for name in listing.read_text().split() if not name.startswith("__")]
    script = folder / "imports.py"
    script.write_text(
        f"import contextlib, importlib\nfor name in {names!r}:\n"
        "    with contextlib.suppress(ImportError):\n        importlib.import_module(name)\n"
    )
    return [sys.executable, str(script)]


def _configure(folder: Path, origins: list[Origin]) -> Path:
    tables = [f'[[repo]]\nname = "r{number}"\nurl = "{origin.path}"\n' for number, origin in enumerate(origins)]
    config = folder / "sources.toml"
    config.write_text(f'state_dir = "{folder / "state"}"\n[embed]\nkind = "hashing"\n' + "".join(tables))
    return config


def _page(draw: random.Random, *, headings: int = 4) -> bytes:
    sections = [f"## Part {number}\n\n{' '.join(draw.choices(_WORDS, k=150))}.\n" for number in range(headings)]
    return "\n".join(["# Page", "", *sections]).encode()


async def _parts(file: Path, path: str, source: str) -> int:
    async with open_store(file, is_writer=False) as store:
        rows = await store.connection.execute_fetchall(
            "SELECT count(*) FROM part JOIN chunk USING (chunk_key) JOIN document USING (document_key)"
            " JOIN source USING (source_key) WHERE document.path = ? AND source.id = ?",
            (path, source),
        )
        return int(next(iter(rows))[0])


def _told(run: Finished) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = json.loads(run.output.splitlines()[-1])
    return told


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[1]))
    main()
