"""`sources measure`: what the configured engine costs at several sizes, on this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from sources.cli.common import Invocation, common_options
from sources.cli.endings import endings, interrupt
from sources.cli.exits import Exit
from sources.cli.output import put_json
from sources.cli.style import Style, table

if TYPE_CHECKING:
    from sources.measuring.run import Measured
    from sources.measuring.trial import Times, Trial

_HEADERS: Final = (
    "chunks", "ingest s", "vectors s", "peak MB", "file B/chunk", "words ms", "vectors ms", "hybrid ms", "recall@10",
    "reader MB", "peak MB",
)  # fmt: skip


@click.command()
@common_options
@click.option(
    "--sizes",
    default="500,5000,20000",
    show_default=True,
    metavar="N,N",
    help="How many chunks, by commas; 100000 takes minutes, 1000000 an hour and some gigabytes.",
)
@click.option("--questions", default=100, show_default=True, type=click.IntRange(1, 10_000), help="How many are asked.")
@click.option(
    "--text",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Make the corpora from the Markdown and text files here; default: the texts of the index.",
)
@click.option(
    "--scratch", type=click.Path(path_type=Path), metavar="DIR", help="Where to write; default: the state directory."
)
@click.option(
    "--engine-pid", type=int, metavar="PID", help="Also tell the memory of this process, a server on this machine."
)
@click.pass_obj
def command(
    invocation: Invocation, sizes: str, questions: int, text: Path | None, scratch: Path | None, engine_pid: int | None
) -> int:
    """Measure what the configured engine costs at several sizes.

    Builds an index of each size from real text, in a folder (and a collection) of its own, which is removed again: how
    long it takes, how much memory the writing and the asking process have, bytes on disk, and how long questions take
    by words, by vectors and by both (median and 95th percentile, without embedding the question). Vectors lie among
    those of a sample that the configured model embeds; recall@10 is the share of the ten nearest chunks, by a scan of
    all, that the engine names among its first ten.
    """
    wanted = _sizes(sizes)
    from sources.measuring.run import Order, measure

    order = Order(wanted, questions, scratch or invocation.config.state_dir, text, engine_pid)
    is_watched = sys.stderr.isatty() and not invocation.is_quiet

    def tell(line: str) -> None:
        if is_watched:
            click.echo(f"sources: {line}", err=True)

    with endings(interrupt):
        measured = measure(invocation.config, invocation.credentials, order, progress=tell)
    if invocation.as_json:
        put_json(record(measured))
    else:
        click.echo(drawn(measured, invocation.style))
    return Exit.FINE


def _sizes(said: str) -> tuple[int, ...]:
    parts = [part.strip().replace("_", "") for part in said.split(",")]
    if not all(part.isascii() and part.isdigit() and 0 < int(part[:10]) <= 10_000_000 for part in parts):
        raise click.BadParameter(f"expected numbers from 1 to 10000000 by commas, found {said!r}", param_hint="--sizes")
    return tuple(int(part) for part in parts)


def record(measured: "Measured") -> dict[str, object]:
    """The contract of `--json`: fields are added, never changed. Bytes, seconds and milliseconds; null is unknown."""
    machine, server = measured.machine, measured.server
    return {
        "version": 1,
        "engine": measured.engine,
        "embedder": measured.embedder,
        "note": measured.note or None,
        "machine": {
            "system": machine.system,
            "processor": machine.processor,
            "cores": machine.cores,
            "memory_bytes": machine.memory_bytes,
            "load": machine.load,
        },
        "texts": {"passages": measured.passages, "mean_bytes": round(measured.mean_bytes, 1)},
        "server": None if server is None else {"resident_bytes": server.resident, "peak_bytes": server.peak},
        "trials": [_trial(trial) for trial in measured.trials],
    }


def _trial(trial: "Trial") -> dict[str, object]:
    written, asked = trial.written, trial.asked
    return {
        "chunks": trial.chunks,
        "ingest_seconds": round(written.seconds, 3),
        "vectors_seconds": round(written.vectors_s, 3),
        "file_bytes": written.file_bytes,
        "bytes_per_chunk": round(trial.bytes_per_chunk, 1),
        "writer_peak_bytes": None if written.memory is None else written.memory.peak,
        "reader_resident_bytes": None if asked.memory is None else asked.memory.resident,
        "reader_peak_bytes": None if asked.memory is None else asked.memory.peak,
        "lexical": _times(asked.lexical),
        "vector": _times(asked.vector),
        "hybrid": _times(asked.hybrid),
        "recall_at_10": None if asked.recall is None else round(asked.recall, 4),
    }


def _times(times: "Times | None") -> dict[str, float] | None:
    return None if times is None else {"p50_ms": round(times.p50_ms, 2), "p95_ms": round(times.p95_ms, 2)}


def drawn(measured: "Measured", style: Style) -> str:
    machine = measured.machine
    lines = [
        f"{measured.engine}, embedder {measured.embedder}; {machine.processor}, {machine.cores} cores,"
        f" {machine.memory_bytes / 1e9:.0f} GB, load {machine.load:.1f}; {machine.system}",
        f"from {measured.passages:,} passages of {measured.mean_bytes:.0f} bytes",
        "",
        table(_HEADERS, [_row(trial) for trial in measured.trials], style),
    ]
    if measured.note:
        lines += ["", measured.note]
    if measured.server is not None:
        resident, peak = measured.server.resident, measured.server.peak
        lines += ["", f"the engine's process: {resident / 1e6:.0f} MB now, {peak / 1e6:.0f} MB at most"]
    return "\n".join(lines)


def _row(trial: "Trial") -> tuple[str, ...]:
    written, asked = trial.written, trial.asked
    return (
        f"{trial.chunks:,}",
        f"{written.seconds:.1f}",
        f"{written.vectors_s:.1f}",
        _megabytes(None if written.memory is None else written.memory.peak),
        f"{trial.bytes_per_chunk:.0f}",
        _pair(asked.lexical),
        _pair(asked.vector),
        _pair(asked.hybrid),
        "-" if asked.recall is None else f"{asked.recall:.3f}",
        _megabytes(None if asked.memory is None else asked.memory.resident),
        _megabytes(None if asked.memory is None else asked.memory.peak),
    )


def _pair(times: "Times | None") -> str:
    return "-" if times is None else f"{times.p50_ms:.1f} / {times.p95_ms:.1f}"


def _megabytes(count: int | None) -> str:
    return "-" if count is None else f"{count / 1e6:.0f}"
