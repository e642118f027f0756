"""Processes that a bench starts: how long they took, and how much memory they had at most.

The peak is `VmHWM`, which is the process's own: what `getrusage` tells of a child may be the size of the one that
started it.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from sources.measuring.memory import memory_of

_LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Finished:
    seconds: float
    cpu_seconds: float
    peak_mb: float  # 1 MB is 10^6 bytes
    output: str


def run_alone(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    accepted: Collection[int] = (0,),
    watch: Callable[[int], None] = lambda process: None,
) -> Finished:
    """Run to the end. Another exit than those accepted ends the bench with what the command complained of.

    `watch` is called all the while, with the process's id; it may be gone by then.

    Without an environment of its own it has this one's, but may keep its bytecode, as a program that is installed has.
    """
    if environment is None:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    before = os.times()
    with (
        tempfile.TemporaryFile("w+") as said,
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(command, stdout=said, stderr=complaints, text=True, env=environment) as process,
    ):
        peak = 0
        while process.poll() is None:
            memory = memory_of(process.pid)
            peak = max(peak, memory.peak if memory else 0)
            watch(process.pid)
            time.sleep(_LOOK_EVERY_S)
        seconds = time.perf_counter() - start
        after = os.times()
        said.seek(0)
        output = said.read()
        if process.returncode not in accepted:
            complaints.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output}{complaints.read()}")
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return Finished(seconds, cpu, peak / 1e6, output)
