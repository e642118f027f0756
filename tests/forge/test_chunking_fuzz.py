"""Whatever a file holds, it gives a document or a reason: never a traceback, never a lost line.

`SOURCES_FUZZ_EXAMPLES` sets how many random files each test tries; the default keeps the suite short.
"""

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.model import Corpus, Document, SourceId
from ingest.forge.documents import Rules, Skipped, document
from ingest.forge.linemap import line_map
from ingest.forge.packing import Packing

EXAMPLES = int(os.environ.get("SOURCES_FUZZ_EXAMPLES", "200"))
PATHS = ["a.md", "a.txt", "a.rst", "a.adoc", "a.conf.template", "a.sh", "a.php", "a.py", "a.js", "a.sql", "a.ini", "a"]
RULES = Rules(Packing(target_tokens=30, ceiling_tokens=40, overlap_tokens=8), part_bytes=60)
SNIPPETS = [
    *["---\n", "+++\n", "title: x\n", "tags: [a]\n", "```\n", "~~~", "    ", "\t", "> ", "- ", "1. ", "# ", "===\n"],
    *[
        "| a | b |\n|---|---|\n",
        "|",
        "[a]: b\n",
        "[",
        "](",
        "*",
        "_",
        "`",
        "<!--",
        "-->",
        "<div>\n",
        "{#a}",
        "{{<",
        ":::",
    ],
    *[
        "!!! note\n\n    ",
        "#!/bin/sh\n",
        "# ",
        "// ",
        "/*",
        "*/",
        " * ",
        '"""',
        "'''",
        "<?php\n",
        "-- ",
        "; ",
        "PURPOSE\n",
    ],
    *[
        "CONFIGURATION\n-----\n",
        "Title\n",
        "    text\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "\0",
        "\ufeff",
        "\u2028",
        "\x85",
        "\x0b",
    ],
    *[
        "word ",
        "č",
        "\u0301",
        "\U0001f468\u200d\U0001f469",
        "x" * 50,
        "&amp;",
        "\\",
        "\u200d",
        "\x1c",
        "=begin\n",
        "&a",
        "*a",
    ],
]
TEXTS = st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join)
FILES = (
    st.binary(max_size=300) | TEXTS.map(lambda text: text.encode()) | st.text(max_size=200).map(lambda t: t.encode())
)


def shrinking(text: str) -> str:
    """A scrubber that changes lengths and counts of lines."""
    return text.replace("x\n", "").replace("word", "[redacted]").replace("\n\n\n", "\n")


def read(path: str, data: bytes, rules: Rules = RULES, *, is_scrubbed: bool = False) -> Document | Skipped:
    return document(
        source=SourceId("repo:a"),
        corpus=Corpus.FORGE,
        path=path,
        revision="r",
        data=data,
        scrub=shrinking if is_scrubbed else lambda text: text,
        rules=rules,
    )


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.sampled_from(PATHS), FILES, st.booleans())
def test_any_bytes_give_a_document_or_a_reason(path: str, data: bytes, is_scrubbed: bool) -> None:
    found = read(path, data, is_scrubbed=is_scrubbed)
    assert found == read(path, data, is_scrubbed=is_scrubbed)
    if isinstance(found, Skipped):
        assert found.reason
        return
    count = len(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")) + data.count(b"\0")
    assert len({chunk.id for chunk in found.chunks}) == len(found.chunks) > 0
    for chunk in found.chunks:
        assert chunk.lines is not None
        assert 1 <= chunk.lines[0] <= chunk.lines[1] <= count
        assert "".join(chunk.text[part.start : part.end] for part in chunk.parts) == chunk.text
        f"{chunk.text}{chunk.heading}{found.title}{dict(found.payload)}".encode()


@settings(max_examples=EXAMPLES, deadline=None)
@given(TEXTS.map(lambda text: text.replace("\0", "").replace("\r", "")))
def test_no_line_of_a_page_is_lost(text: str) -> None:
    found = read("a.md", text.encode())
    if isinstance(found, Skipped):
        return
    shown = "\n".join(chunk.text for chunk in found.chunks)
    covered = {line for chunk in found.chunks if chunk.lines for line in range(chunk.lines[0], chunk.lines[1] + 1)}
    missing = [line for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1) if number not in covered]
    matter = text.removeprefix("\ufeff").startswith(("---", "+++"))
    assert matter or not [line for line in missing if any(map(str.isalnum, line)) and line not in shown]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "", "key", "end"]), max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_lines_around_a_shrunken_secret_keep_their_numbers(lines: list[str], start: int, length: int) -> None:
    lines = [f"{number} {line}" for number, line in enumerate(lines, 1)]
    start = min(start, len(lines))
    after = [*lines[:start], "[redacted]", *lines[start + length :]]
    origin = line_map("\n".join(lines), "\n".join(after))
    if len(lines) == len(after):
        return
    for number, line in enumerate(after, 1):
        first, last = origin.original(number, number)
        assert 1 <= first <= last <= max(1, len(lines))
        if line != "[redacted]":
            assert lines[first - 1] == line and first == last


UNITS = [
    *[
        ">",
        "> ",
        ">\n",
        "[",
        "*",
        "* ",
        "- a\n",
        "`",
        "```\n",
        "|",
        "|a",
        "[a]:\n",
        "<",
        "<a\n",
        "# a\n",
        "a\n",
        "a\n=\n",
        "\t",
    ],
    *[
        "1. ",
        "<!--",
        "!!! note\n\n    ",
        "    !!! note\n\n",
        "{{<",
        "\\",
        "&#",
        "# [[[[[[[[[[[[\n",
        "a b\n\n",
        "    a\n\n",
    ],
    *["---\na: b\n---\n", "> - ", "- > ", "\u0301", "/*", "// a\n", "// \n\n"],
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_repeated_without_end_costs_linear_time(unit: str) -> None:
    """A quadratic path would run into the timeout of the suite."""
    text = unit * (40_000 // len(unit))
    for path in ("a.md", "a.txt", "a.js"):
        assert read(path, text.encode(), Rules())


def test_sections_without_number_are_packed_by_size() -> None:
    found = read("a.md", b"# a\n\nx\n\n" * 300, Rules(Packing(max_pieces=200)))
    assert isinstance(found, Document)
    assert len(found.chunks) < 10


def test_random_bytes_after_a_shebang_are_no_document() -> None:
    assert isinstance(read("a", b"#!" + random.Random(1).randbytes(5_000)), Skipped)
