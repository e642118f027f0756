"""What a bench prints: lines that are there at once, also in a file that somebody watches; how busy the machine was."""

import os
import sys


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def load() -> str:
    """The load average, for the head of a table."""
    return "load " + " ".join(f"{value:.1f}" for value in os.getloadavg()) + f" on {os.cpu_count()} cores"
