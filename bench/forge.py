"""What a refresh of a large forge costs when little happened: requests, processes of git, and seconds.

    python -m bench.forge --repos 2000 --changed 3

A loopback forge with real repositories is indexed once; then some of them are pushed to and it is refreshed again,
three ways: by the forge's word with entity tags, by its word alone, and by git alone, as at a forge whose times prove
nothing. The server runs in this process and starts a `git http-backend` for each request, so that of the third way
about half of the time is the server's.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from ingest.report import Outcome, Report
from sources.app import run_refresh
from sources.config.load import parse
from sources.credentials import Credentials
from tests.forge.forge_server import ForgeServer, Hosted, make_forge
from tests.forge.git_repos import Origin, git


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=int, default=2000)
    parser.add_argument("--changed", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=8)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, make_forge(Path(folder) / "forge", has_etags=True) as forge:
        _fill(forge, asked.repos)
        trust = "24h"
        _run("first run", forge, Path(folder), asked.parallel, trust)
        for name, has_etags, trust in (
            ("the forge's word, entity tags", True, "24h"),
            ("the forge's word", False, "24h"),
            ("git asked each time", True, "0s"),
        ):
            forge.has_etags = has_etags
            for hosted in forge.hosted[: asked.changed]:
                forge.push(hosted, {b"README.md": f"# Changed\n\n{name} {hosted.name}\n".encode()})
            _run(f"{asked.changed} changed, {name}", forge, Path(folder), asked.parallel, trust)
        _run("nothing changed, entity tags", forge, Path(folder), asked.parallel, "24h")


def _fill(forge: ForgeServer, count: int) -> None:
    """Repositories that share one pack on the disk."""
    template = Origin.at(forge.root / "template.git")
    template.commit({b"README.md": b"# Page\n\nOne page of text about keys and how they are kept.\n"})
    shutil.rmtree(template.path / "hooks", ignore_errors=True)
    git(template.path, "pack-refs", "--all")
    for number in range(count):
        path = forge.root / "club" / f"repo{number:05}.git"
        shutil.copytree(template.path, path)
        forge.hosted.append(Hosted(number + 1, "club", f"repo{number:05}", Origin(path, commits=1)))


def _run(name: str, forge: ForgeServer, folder: Path, parallel: int, trust: str) -> Report:
    text = (
        'state_dir = "state"\nembed = { kind = "off" }\n[refresh]\nsource_timeout = "2h"\n'
        f'[[forge]]\nname = "bench"\nkind = "{forge.kind}"\nurl = "{forge.origin}"\norganisations = ["club"]\n'
        f'parallel = {parallel}\ntrust = "{trust}"\n'
    )
    config = parse(text, name="sources.toml", base=folder)
    forge.requests.clear()
    forge.api_requests.clear()
    forge.is_not_modified = 0
    start = time.monotonic()
    report = asyncio.run(run_refresh(config, Credentials(None)))
    seconds = time.monotonic() - start
    updated = sum(one.outcome is Outcome.UPDATED for one in report.sources)
    sys.stdout.write(
        f"{name}: {seconds:.2f} s; listing {len(forge.api_requests)} requests ({forge.is_not_modified} not modified),"
        f" git {len(forge.requests)} requests; {updated} updated, {len(report.failed)} failed\n"
    )
    sys.stdout.flush()
    return report


if __name__ == "__main__":
    main()
