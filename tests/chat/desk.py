"""The command line of a host who has rooms indexed: orders to forget are given as people give them."""

import asyncio
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from sources.cli.main import group
from tests.chat.host import Host


class Desk:
    """The command line of the host whose index `host` fills."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.config = host.folder.parent / f"{host.folder.name}.toml"
        self.config.write_text(
            f'state_dir = "{host.folder}"\nembed = {{ kind = "off" }}\nindex = {{ languages = ["en"] }}\n'
            f'[metrics]\ntextfile = "{self.metrics}"\n'
            f'[chat]\nhomeserver = "{host.settings.homeserver}"\nuser = "{host.settings.user}"\n'
        )
        host.set(orders=host.folder / "purges")

    @property
    def metrics(self) -> Path:
        return self.host.folder / "sources.prom"

    def refresh_whole(self, token: str) -> Result:
        """As the service does it, with metrics and all that can be logged; everything is read again."""
        folder = self.host.folder.parent / "credentials"
        folder.mkdir(mode=0o700, exist_ok=True)
        file = folder / "matrix-reader-token"
        file.touch(mode=0o600)
        file.write_text(token)
        return self.sources("-vv", "refresh", "--full", "--credentials-dir", str(folder))

    def sources(self, *arguments: str) -> Result:
        return CliRunner().invoke(group, ["--config", str(self.config), *arguments], standalone_mode=False)

    async def purge(self, *arguments: str) -> dict[str, Any]:
        """Carried out in a thread of its own, since the command has an event loop of its own."""
        done = await asyncio.to_thread(self.sources, "chat-purge", "--json", *arguments)
        if done.exception is not None:
            raise done.exception
        return {**json.loads(done.stdout), "exit": done.return_value}

    async def faults(self) -> list[str]:
        """What `verify` finds."""
        done = await asyncio.to_thread(self.sources, "verify", "--json")
        if done.exception is not None:
            raise done.exception
        return [one["check"] for one in json.loads(done.stdout)["findings"]]
