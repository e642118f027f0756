"""The part of the demo that needs no chat: this project's own repository and documentation, indexed and searched."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from index.errors import ConfigError

Run = Callable[..., None]
"""Runs one command of the program as a host would type it, and shows both."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what it shows."""

    shows: str
    arguments: tuple[str, ...]


QUESTIONS: Final = (
    Question("a question in plain words", ("search", "-n", "3", "what happens when a refresh is killed?")),
    Question("another language than the text", ("search", "-n", "2", "kam se ukládají přihlašovací údaje")),
    Question("an exact phrase, in one kind of document", ("search", "-n", "2", '"one writer" kind:readme')),
    Question(
        "why a hit stands where it stands",
        ("search", "-n", "2", "--explain", "which setting names the rooms that are left out"),
    ),
    Question("nothing that is here", ("search", "-n", "2", "sourdough starter hydration")),
    Question("exact text, code included", ("grep", "PRAGMA secure_delete")),
    Question("what is indexed, and what it lacks", ("status",)),
)


def project() -> Path:
    """The checkout this program runs from."""
    root = Path(__file__).parents[2]
    if not (root / "pyproject.toml").is_file():
        raise ConfigError("demo: needs a checkout of the project to index (git clone it, then make demo)")
    return root


def configuration(state: Path, *, is_quick: bool = False) -> str:
    """Two sources: the repository, and the folder of documentation as notes."""
    root = project()
    if subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, check=False).returncode:
        raise ConfigError("demo: the checkout has no commit to index (git clone the project, then make demo)")
    embed = 'kind = "hashing"\ndimension = 64' if is_quick else 'kind = "local"'
    return (
        f'state_dir = "{state}"\n\n[embed]\n{embed}\n\n'
        f'[[repo]]\nname = "sources"\nurl = "{root}"\nexclude = ["tests/**", "**/*.txt"]\npublic = true\n\n'
        f'[[notes]]\nname = "handbook"\nroot = "{root / "docs"}"\npaths = ["."]\n'
    )


def steps() -> Iterator[Question]:
    yield Question("read both sources, then say what happened", ("refresh", "-v"))
    yield Question("again: nothing changed, so nothing is said", ("refresh",))
    yield from QUESTIONS
