"""The tools of the MCP server: the same records as the commands give, and no argument passed over in silence."""

import json
from collections.abc import Mapping

import pytest

from index.errors import ConfigError, QueryError, SourcesError
from sources.config.load import load
from sources.credentials import Credentials
from sources.mcp.arguments import TOOLS, checked, schema
from sources.mcp.budget import MAX_BYTES, size_bytes
from sources.mcp.tools import NOTICE, Tools
from tests.cli.conftest import Community


async def call(community: Community, name: str, **arguments: object) -> dict[str, object]:
    tools = Tools(load(community.config_file), Credentials(None))
    record = await tools.call(checked(name, arguments))
    assert record.pop("notice") == NOTICE
    assert size_bytes(record) <= MAX_BYTES
    return record


def told(community: Community, *arguments: str) -> dict[str, object]:
    record = json.loads(community.sources(*arguments, "--json").stdout)
    assert isinstance(record, dict)
    return record


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("search", {"texts": ["rotate the signing key"]}, ["search", "rotate the signing key"]),
        ("search", {"texts": ["tag:security"]}, ["search", "tag:security"]),
        ("search", {"texts": ["nobodywrotethis"]}, ["search", "nobodywrotethis"]),
        ("toc", {"source": "handbook"}, ["toc", "--source", "handbook"]),
        ("grep", {"pattern": "SENDREPORTS", "ignore_case": True}, ["grep", "-i", "SENDREPORTS"]),
        ("ask", {"question": "signing key", "sources_only": True}, ["ask", "--sources-only", "signing key"]),
        ("status", {}, ["status"]),
    ],
)
def test_a_tool_gives_what_its_command_gives(
    indexed: Community, name: str, arguments: Mapping[str, object], command: list[str]
) -> None:
    import asyncio

    record = asyncio.run(call(indexed, name, **arguments))
    assert record.pop("left_off") == 0
    expected = told(indexed, *command)
    for one in (record, expected):
        one.pop("free_bytes", None)  # the disk is not ours alone
    assert record == expected


async def test_a_hit_can_be_read_by_its_citation_and_a_long_file_in_pieces(indexed: Community) -> None:
    found = await call(indexed, "search", texts=["rotate the signing key"])
    hits = found["hits"]
    assert isinstance(hits, list)
    passage = await call(indexed, "get", reference=hits[0]["citation"])
    assert "Rotate the signing key" in str(passage["text"])
    lines = [f"line {number} {'x' * 90}" for number in range(1, 1_001)]
    indexed.commit("ops/long.txt", "\n".join(lines) + "\n")
    first = await call(indexed, "get", reference="handbook ops/long.txt")
    assert first["total_lines"] == 1_000
    next_line, left_off = first["next_line"], first["left_off"]
    assert isinstance(next_line, int)
    assert left_off == 1_000 - next_line + 1
    rest = await call(indexed, "get", reference="handbook ops/long.txt", from_line=next_line)
    assert f"{first['text']}\n{rest['text']}".split("\n") == lines
    assert rest["next_line"] is None


async def test_what_is_too_much_is_left_off_and_counted(indexed: Community) -> None:
    indexed.commit("bin/many", "".join(f"needle {'x' * 150}\n" for _ in range(1_000)))
    found = await call(indexed, "grep", pattern="needle", limit=1_000)
    lines = found["lines"]
    assert isinstance(lines, list)
    assert 0 < len(lines) < 1_000
    assert found["left_off"] == 1_000 - len(lines)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {"texts": ["a"], "collection": "x"}, "unknown field `collection`"),
        ("search", {"texts": "a"}, "Expected `array`"),
        ("search", {}, "missing required field `texts`"),
        ("search", {"texts": ["x"] * 9}, "length <= 8"),
        ("grep", {"pattern": "a", "limit": 5_000}, "<= 1000"),
        ("get", {"reference": "a b", "from_line": 0}, ">= 1"),
        ("status", {"verbose": True}, "its arguments are: none"),
        ("delete", {}, "no such tool"),
    ],
)
def test_an_argument_that_is_not_known_or_not_right_is_an_error(
    name: str, arguments: Mapping[str, object], said: str
) -> None:
    with pytest.raises(QueryError, match=said):
        checked(name, arguments)


@pytest.mark.parametrize("name", TOOLS)
def test_the_schema_forbids_what_the_check_refuses(name: str) -> None:
    made = schema(TOOLS[name])
    assert made["type"] == "object"
    assert made["additionalProperties"] is False
    assert "$ref" not in json.dumps(made)
    assert set(made["properties"]) == set(TOOLS[name].__struct_fields__)
    assert TOOLS[name].__doc__


async def test_what_cannot_be_done_is_said_with_the_remedy(indexed: Community) -> None:
    for name, arguments, kind in (
        ("ask", {"question": "signing key"}, ConfigError),
        ("get", {"reference": "handbook"}, QueryError),
        ("get", {"reference": "handbook no/such.md"}, SourcesError),
        ("get", {"reference": "handbook ops/keys.md:1-2", "from_line": 3}, QueryError),
        ("search", {"texts": ["x" * 999 + "ž"]}, QueryError),
        ("toc", {"source": "elsewhere"}, QueryError),
    ):
        with pytest.raises(kind):
            await call(indexed, name, **arguments)
