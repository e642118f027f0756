"""What the kernel says of a process's memory."""

from pathlib import Path

from msgspec import Struct


class Memory(Struct, frozen=True):
    """In bytes: what it holds in memory now, and what it held at most."""

    resident: int
    peak: int


def memory_of(process: int | None = None) -> Memory | None:
    """Of this process when none is named. None where the process is gone, or where the kernel does not tell."""
    try:
        lines = Path(f"/proc/{'self' if process is None else process}/status").read_text().splitlines()
    except OSError:
        return None
    said = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    try:
        return Memory(int(said["VmRSS"][0]) * 1024, int(said["VmHWM"][0]) * 1024)
    except (KeyError, IndexError, ValueError):
        return None
