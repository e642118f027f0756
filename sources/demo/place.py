"""The folder of a demo: configuration, credentials and notes, written as a host would write them."""

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sources.demo.scenario import BOT, NOTES, READER, ROOMS

if TYPE_CHECKING:
    from sources.demo.community import Community

_REPOSITORY: Final = """
[[repo]]
name = "sources"
url = {url}
include = ["*.md", "bot/*.py"]
exclude = ["tests/**", "docs/scrubbing.md"]
public = true
"""
_NOTES: Final = """
[[notes]]
name = "notes"
root = {root}
paths = ["."]
public = true
"""
_CHAT: Final = """
[chat]
homeserver = {homeserver}
user = {reader}
exclude = {excluded}
service_accounts = [{bot}]

[bot]
homeserver = {homeserver}
user = {bot}
looks_with = "reader"
hits = 3
per_user = 60
per_room = 60
contact = "the people who started this demo"
"""


class Place(Struct, frozen=True):
    """`data` is all that the program keeps; the homeserver has its own folder beside it."""

    folder: Path

    @property
    def config_file(self) -> Path:
        return self.folder / "sources.toml"

    @property
    def credentials(self) -> Path:
        return self.folder / "credentials"

    @property
    def data(self) -> Path:
        return self.folder / "state"

    @property
    def bot_log(self) -> Path:
        return self.data / "bot.log"

    @property
    def homeserver(self) -> Path:
        return self.folder / "homeserver"


def prepare(place: Place, community: "Community | None", *, is_quick: bool) -> None:
    """Write everything that the program reads. Without a community there is no chat."""
    place.data.mkdir(exist_ok=True)
    notes = place.folder / "notes"
    notes.mkdir(exist_ok=True)
    for name, text in NOTES.items():
        (notes / name).write_text(text, encoding="utf-8")
    if community is not None:
        place.credentials.mkdir(mode=0o700, exist_ok=True)
        _give(place.credentials / "matrix-reader-token", community.accounts[READER].token)
        _give(place.credentials / "matrix-bot-token", community.accounts[BOT].token)
    place.config_file.write_text(_configuration(place, notes, community, is_quick=is_quick), encoding="utf-8")


def _give(file: Path, secret: str) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as written:
        written.write(f"{secret}\n")


def _configuration(place: Place, notes: Path, community: "Community | None", *, is_quick: bool) -> str:
    embed = 'kind = "hashing"\ndimension = 64' if is_quick else 'kind = "local"'
    text = f"state_dir = {_quoted(place.data)}\n\n[embed]\n{embed}\n"
    if (root := checkout()) is not None:
        text += _REPOSITORY.format(url=_quoted(root))
    text += _NOTES.format(root=_quoted(notes))
    if community is None:
        return text
    text += _CHAT.format(
        homeserver=_quoted(community.homeserver.url),
        reader=_quoted(community.accounts[READER].user),
        bot=_quoted(community.accounts[BOT].user),
        excluded=json.dumps([community.alias(room.key) for room in ROOMS if room.is_excluded]),
    )
    for room in ROOMS:
        if room.sees:
            text += (
                f"\n[[bot.room]]\nroom = {_quoted(community.alias(room.key))}\nsees = {json.dumps(list(room.sees))}\n"
            )
    return text


def _quoted(value: object) -> str:
    """JSON's strings are strings of TOML."""
    return json.dumps(str(value), ensure_ascii=False)


def checkout() -> Path | None:
    """This project's own repository, where the program runs from one that has a commit."""
    root = Path(__file__).parents[2]
    if not (root / "pyproject.toml").is_file():
        return None
    asked = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, check=False)
    return root if asked.returncode == 0 else None
