"""A credential planted anywhere in a document reaches neither file, log nor embedding server."""

import asyncio
import random
import re
from pathlib import Path

from ingest.scrub import scrub
from ingest.scrub.rules import RULES
from ingest.scrub.samples import sample
from tests.embed.server import FakeEmbeddingServer
from tests.refresh.conftest import PROGRAM, WORDS, environment, git

DOCUMENTS = 500
RUN = re.compile(r"[A-Za-z0-9]{10,}")


def pieces(secret: str) -> set[bytes]:
    """What of a secret could stand nowhere by chance: runs with a digit in them, as full-text indexes keep them."""
    runs = (run for run in RUN.findall(secret) if re.search("[0-9]", run))
    return {run[:16].lower().encode() for run in runs}


def plant(folder: Path, seed: int) -> set[bytes]:
    """Write the documents; returns pieces of everything planted."""
    draw = random.Random(seed)
    templates = [template for rule in RULES for template in rule.finds]
    planted: set[bytes] = set()
    missed = 0
    for number in range(DOCUMENTS):
        example = sample(templates[number % len(templates)], seed + number)
        known = scrub(example.text).lower().encode()
        if any(piece in known for secret in example.secrets for piece in pieces(secret)):
            missed += 1  # by chance it looks like a placeholder or a path: recall is the scrubber's own tests' business
            continue
        prose = " ".join(draw.choices(WORDS, k=20))
        places = {
            "text": f"# Page {number}\n\n{prose}\n\n{example.text}\n\n{prose}\n",
            "fence": f"# Page {number}\n\n{prose}\n\n```\n{example.text}\n```\n",
            "heading": f"# Page {number}\n\n## {example.text.splitlines()[0]}\n\n{example.text}\n\n{prose}\n",
        }
        (folder / f"page{number}.md").write_text(draw.choice(list(places.values())))
        for secret in example.secrets:
            planted |= pieces(secret)
    assert missed <= DOCUMENTS // 50
    return planted


async def test_no_planted_secret_is_in_any_byte_that_is_kept_sent_or_logged(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    planted = plant(repository, random.Random().randrange(10**6))
    assert len(planted) > DOCUMENTS / 2
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "planted")
    state = tmp_path / "state"
    config = tmp_path / "sources.toml"
    async with FakeEmbeddingServer(dimension=16) as server:
        config.write_text(
            f'state_dir = "{state}"\n[embed]\nkind = "http"\nmodel = "fake"\nurl = "{server.url}"\ndimension = 16\n'
            f'[[repo]]\nname = "planted"\nurl = "{repository}"\n'
        )
        process = await asyncio.create_subprocess_exec(
            *PROGRAM, "--config", str(config), "refresh", "-vv",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, env=environment(),
        )  # fmt: skip
        logged, _ = await process.communicate()
        sent = "\n".join(server.texts)
    assert process.returncode == 0, logged.decode()[-2_000:]
    kept = b"".join(path.read_bytes() for path in _files(state))
    assert sent, "nothing was embedded"
    for name, data in (("file", kept), ("log", logged), ("embedding server", sent.encode())):
        low = data.lower()
        left = {piece for piece in planted if piece in low}
        assert not left, f"{len(left)} pieces of secrets in {name}"


def _files(state: Path) -> list[Path]:
    """Everything that is kept, without the clone, which is the repository itself."""
    return sorted(path for path in state.rglob("*") if path.is_file() and "clones" not in path.parts)
