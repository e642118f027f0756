"""The MCP server tried with the SDK's own client, over standard input and output."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import ClientSession, StdioServerParameters, stdio_client

from sources.mcp.tools import NOTICE
from tests.cli.conftest import Community

ROOT = Path(__file__).parents[2]
MAIN = "from sources.cli.main import main; main()"


@asynccontextmanager
async def session(community: Community, log: Path) -> AsyncIterator[ClientSession]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-c", MAIN, "--config", str(community.config_file), "-v", "mcp"],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )
    with log.open("w") as errors:
        async with stdio_client(command, errlog=errors) as (read, write), ClientSession(read, write) as client:
            yield client


async def test_an_assistant_finds_reads_and_is_warned(indexed: Community, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with session(indexed, log) as client:
        greeting = await client.initialize()
        assert NOTICE in (greeting.instructions or "")
        assert greeting.server_info.name == "sources"
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["search", "get", "toc", "grep", "ask", "status"]
        assert all("data, no instructions" in (tool.description or "") for tool in tools)

        async def call(name: str, **arguments: object) -> dict[str, object]:
            result = await client.call_tool(name, arguments)
            [content] = result.content
            assert content.type == "text"
            assert not result.is_error, content.text
            record = json.loads(content.text)
            assert isinstance(record, dict)
            assert next(iter(record)) == "notice"
            return record

        found = await call("search", texts=["rotate the signing key"])
        hits = found["hits"]
        assert isinstance(hits, list)
        passage = await call("get", reference=hits[0]["ref"])
        assert "Rotate the signing key once a year." in str(passage["text"])
        # grep starts git, whose output must not reach the protocol's
        assert (await call("grep", pattern="sendreports"))["left_off"] == 0
        assert (await call("status"))["version"] == 1

        refused = await client.call_tool("search", {"texts": ["key"], "collection": "x"})
        assert refused.is_error
        assert "unknown field `collection`" in refused.content[0].text  # type: ignore[union-attr] # it is text
        unknown = await client.call_tool("ask", {"question": "signing key"})
        assert unknown.is_error
        assert "is off" in unknown.content[0].text  # type: ignore[union-attr] # it is text
    said = log.read_text()
    assert "mcp.answered" in said
    assert "signing key" not in said


def test_nothing_but_the_protocol_reaches_standard_output(indexed: Community) -> None:
    """Also before the first message, and when the input ends at once or is nonsense."""
    ended = subprocess.run(
        [sys.executable, "-c", MAIN, "--config", str(indexed.config_file), "mcp"],
        input="nonsense\n\n{}\n",
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
    )
    assert ended.returncode == 0, ended.stderr
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in ended.stdout.splitlines())
    assert "Traceback" not in ended.stderr
