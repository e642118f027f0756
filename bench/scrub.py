"""Megabytes of generated prose, logs, code and credentials in a second of processor time, at three sizes of text.

python -m bench.scrub [--seconds 3]
"""

import argparse
import sys
import time
from random import Random

from ingest.scrub import scrub
from ingest.scrub.rules import RULES
from ingest.scrub.samples import sample

PROSE = (
    "The index is built in the background; searches use the previous one until it is complete. "
    "Each room has its own cursor, so a restart never reads the same event twice. "
    "Na schůzce jsme se dohodli, že frontu necháme krátkou. "
)
LOG = "2026-05-27T03:18:55Z DEBUG req={uuid} path=/v1/items/{digits:4} status=404 ms={digits:4} sha={hex:12}\n"
SIZES = (200, 4_000, 100_000)


def mix(random: Random, size: int) -> str:
    """About one credential in two kilobytes."""
    finds = [template for rule in RULES for template in rule.finds]
    leaves = [template for rule in RULES for template in rule.leaves]
    parts: list[str] = []
    length = 0
    while length < size:
        choice = random.random()
        if choice < 0.55:
            part = PROSE
        elif choice < 0.8:
            part = sample(LOG, random.randrange(1000)).text
        elif choice < 0.92:
            part = sample(random.choice(leaves), random.randrange(1000)).text + "\n"
        else:
            part = sample(random.choice(finds), random.randrange(1000)).text + "\n"
        parts.append(part)
        length += len(part)
    return "".join(parts)[:size]


def measure(texts: list[str], seconds: float) -> float:
    """Best of the rounds that fit, in megabytes a second of this process."""
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.process_time()
        for text in texts:
            scrub(text)
        best = min(best, time.process_time() - start)
    return size / 1e6 / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each size")
    seconds = parser.parse_args().seconds
    random = Random(1)
    for size in SIZES:
        texts = [mix(random, size) for _ in range(max(1, 400_000 // size))]
        sys.stdout.write(f"{size:>8} characters a text   {measure(texts, seconds):6.2f} MB/s\n")


if __name__ == "__main__":
    main()
