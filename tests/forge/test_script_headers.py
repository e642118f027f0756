"""Headers of scripts: sections and named paragraphs, whatever the comment looks like."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from index.model import Corpus, Document, SourceId
from ingest.forge.comments import header_comment
from ingest.forge.documents import Rules, Skipped, document
from ingest.forge.headers import parse_header

SHARED = Path(__file__).resolve().parents[2].parent / "shared"

HEADER = """\
lamp.sh - switches the lamp of the cellar

PURPOSE
{rule}
Switches the lamp when somebody comes, and off again when
nobody has been there for a while.

OPERATIONAL MODEL
{rule}
There are two parts.

Watching
    The sensor is asked once a second. Three answers in a row
    count as somebody.

Switching
    The lamp is switched through the relay.

DESIGN PRINCIPLES
{rule}
Light is cheap
    In doubt the lamp stays on.

OPERATIONAL SAFEGUARDS
{rule}
All of them can be left out, but some were made for a reason and
should be left alone:
    - the fuse
    - the timer

Fuse
    Blows.

CONFIGURATION
{rule}
All times are in seconds.
    - LAMP_DELAY waits

LAMP_PORT
    Default 7.

RUNTIME MODES
{rule}
Test
    --test blinks three times.
"""

STRUCTURE = [
    ("PURPOSE", None),
    ("OPERATIONAL MODEL", None),
    ("OPERATIONAL MODEL", "Watching"),
    ("OPERATIONAL MODEL", "Switching"),
    ("DESIGN PRINCIPLES", None),
    ("DESIGN PRINCIPLES", "Light is cheap"),
    ("OPERATIONAL SAFEGUARDS", None),
    ("OPERATIONAL SAFEGUARDS", "Fuse"),
    ("CONFIGURATION", None),
    ("CONFIGURATION", "LAMP_PORT"),
    ("RUNTIME MODES", None),
    ("RUNTIME MODES", "Test"),
]


def header(style: str) -> list[str]:
    """The header in one of three styles: names bare, underlined, or underlined with a blank line below."""
    ruled = HEADER.replace("{rule}\n", {"bare": "", "dashed": "-----\n", "spaced": "=====\n\n"}[style])
    return ruled.rstrip("\n").split("\n")


def commented(lines: Sequence[str], syntax: str) -> str:
    def each(sign: str) -> str:
        return "\n".join(f"{sign} {line}".rstrip() for line in lines) + "\n"

    body = "\n".join(lines) + "\n"
    return {
        "sh": f"#!/usr/bin/env bash\n#\n{each('#')}#\n\nset -eu\n# a later comment\n",
        "php //": f"<?php\n\n{each('//')}\n$lamp = 1;\n",
        "php #": f"<?php\n{each('#')}$lamp = 1;\n",
        "php /*": f"<?php\n/*\n{each(' *')} */\n\n$lamp = 1;\n",
        "php /**": f"#!/usr/bin/env php\n<?php\ndeclare(strict_types=1);\n\n/**\n{each(' *')} */\n$lamp = 1;\n",
        "js": f"'use strict';\n/*\n{each(' *')}*/\nlamp();\n",
        "css": f"/*\n{body}*/\na {{}}\n",
        "py": f'#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n"""{body}"""\n\nimport lamp\n',
        "py #": f"#!/usr/bin/env python3\n{each('#')}\nimport lamp\n",
        "sql": f"{each('--')}\nSELECT 1;\n",
        "ini": f"{each(';')}\n[lamp]\n",
    }[syntax]


SYNTAXES = ["sh", "php //", "php #", "php /*", "php /**", "js", "css", "py", "py #", "sql", "ini"]


def structure(text: str, path: str) -> list[tuple[str, str | None, tuple[int, int]]]:
    found: list[tuple[str, str | None, tuple[int, int]]] = []
    for section in parse_header(header_comment(text, path)).sections:
        found.append((section.name, None, (section.first, section.last)))
        found += [
            (section.name, paragraph.title, (paragraph.first, paragraph.last)) for paragraph in section.paragraphs
        ]
    return found


def indexed(path: str, text: str) -> Document:
    found = read(path, text)
    assert isinstance(found, Document), found
    return found


def read(path: str, text: str, rules: Rules | None = None) -> Document | Skipped:
    return document(
        source=SourceId("repo:house"),
        corpus=Corpus.FORGE,
        path=path,
        revision="blob",
        data=text.encode(),
        scrub=lambda text: text,
        rules=rules or Rules(),
    )


@pytest.mark.parametrize("style", ["bare", "dashed", "spaced"])
@pytest.mark.parametrize("syntax", SYNTAXES)
def test_every_style_in_every_comment_syntax_gives_the_same_structure_with_true_lines(style: str, syntax: str) -> None:
    text = commented(header(style), syntax)
    found = structure(text, "lamp." + syntax.split()[0])
    assert [(section, paragraph) for section, paragraph, _ in found] == STRUCTURE
    lines = text.split("\n")
    for section, paragraph, (first, last) in found:
        assert (paragraph or section) in lines[first - 1]
        assert lines[last - 1].strip("#/*-; ")
        assert lines[last].startswith("$lamp") or not lines[last].strip('#/*-; "')


def test_each_named_paragraph_is_a_chunk_under_its_script_and_section() -> None:
    found = indexed("lamp.sh", commented(header("dashed"), "sh"))
    assert found.title == "lamp.sh - switches the lamp of the cellar"
    watching = next(chunk for chunk in found.chunks if chunk.paragraph == "Watching")
    assert watching.heading == (found.title, "OPERATIONAL MODEL", "Watching")
    assert watching.section == "OPERATIONAL MODEL"
    assert watching.text.startswith("Watching\n    The sensor is asked")
    assert [(c.section, c.paragraph) for c in found.chunks] == [
        row for row in STRUCTURE if row not in {("DESIGN PRINCIPLES", None), ("RUNTIME MODES", None)}
    ]


def test_what_stands_above_the_first_section_goes_with_it() -> None:
    first = indexed("lamp.sh", commented(header("bare"), "sh")).chunks[0]
    assert first.section == "PURPOSE"
    assert first.text.startswith("lamp.sh - switches the lamp of the cellar\n")
    assert first.lines == (3, 7)


def test_the_body_of_a_script_is_not_indexed() -> None:
    found = indexed("lamp.sh", commented(header("dashed"), "sh"))
    assert "later comment" not in repr(found)
    assert "set -eu" not in repr(found)


def test_the_last_line_of_a_wrapped_sentence_above_an_indented_list_is_no_title() -> None:
    text = (
        "# PURPOSE\n# Functions that end in _try return at once, those that end in _take\n# wait.\n#     - take NAME\n"
    )
    assert [paragraph for _, paragraph, _ in structure(text, "a.sh")] == [None]


def test_a_line_that_introduces_a_list_is_no_title() -> None:
    text = "# PURPOSE\n# All times are in seconds.\n#     - one\n#\n# Three ways:\n#     1. by hand\n"
    assert [paragraph for _, paragraph, _ in structure(text, "a.sh")] == [None]


def test_a_section_name_inside_a_sentence_begins_no_section() -> None:
    text = "# PURPOSE\n# What is said under\n# CONFIGURATION\n# holds here as well.\n"
    assert [section for section, _, _ in structure(text, "a.sh")] == ["PURPOSE"]


def test_a_retired_script_is_indexed_like_any_other() -> None:
    text = "#!/bin/sh\n# old.sh - the former one, not installed\n#\n# PURPOSE\n# Superseded by new.sh.\n\nexit 1\n"
    assert [chunk.section for chunk in indexed("old.sh", text).chunks] == ["PURPOSE"]


def test_the_names_of_sections_are_a_setting() -> None:
    text = "# ZWECK\n# Macht Licht.\n#\n# Sensor\n#     Fragt.\n"
    found = read("a.sh", text, Rules(sections=("ZWECK",)))
    assert isinstance(found, Document)
    assert [(chunk.section, chunk.paragraph) for chunk in found.chunks] == [("ZWECK", None), ("ZWECK", "Sensor")]


def test_a_header_without_sections_is_cut_by_paragraphs_and_the_licence_is_kept_apart() -> None:
    text = (
        "#!/usr/bin/perl\n#\n# snoop - traces new processes.\n#         Written for tests.\n#\n# USAGE: ./snoop [-h]\n"
        "#\n# COPYRIGHT: Copyright (c) 2026 Somebody.\n#\n#  This is free software.\n\nuse strict;\n# not this\n"
    )
    found = indexed("bin/snoop", text)
    assert found.title == "snoop - traces new processes. Written for tests."
    assert [chunk.lines for chunk in found.chunks] == [(3, 6), (8, 10)]
    assert "USAGE: ./snoop [-h]" in found.chunks[0].text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.sh", "#!/bin/sh\nset -eu\n# later\n"),
        ("a.sh", "#!/bin/sh\n# shellcheck disable=SC2086\nset -eu\n"),
        ("a.py", "# -*- coding: utf-8 -*-\nimport os\n"),
        ("a.php", "<?php\n$a = 1;\n"),
        ("a.js", "/* */\nlamp();\n"),
        ("a.js", "// eslint-disable no-undef\nlamp();\n"),
        ("a.sql", "SELECT 1; -- one\n"),
        ("a.sh", "##########\n#\n##########\n"),
        ("a.sh", ""),
    ],
)
def test_a_script_without_a_header_gives_no_document(path: str, text: str) -> None:
    found = read(path, text)
    assert isinstance(found, Skipped)
    assert found.reason.startswith("nothing to index")


def test_after_a_licence_the_next_comment_counts() -> None:
    text = "// Copyright 2026 Somebody\n// Licensed under terms.\n\n/**\n * Switches the lamp.\n */\nlamp();\n\n// no\n"
    assert "Switches the lamp." in "".join(chunk.text for chunk in indexed("a.js", text).chunks)
    assert "// no" not in repr(indexed("a.js", text))


def test_an_unclosed_comment_ends_with_the_file() -> None:
    assert indexed("a.js", "/* Switches\n the lamp.\n").chunks[0].text.split() == ["Switches", "the", "lamp."]


def test_every_section_and_paragraph_of_the_shared_corpus_is_found_where_it_is() -> None:
    """Half of the scripts of an invented house, marked by hand; without that corpus the styles above stand for it."""
    corpus = SHARED / "eval" / "headers"
    marked: dict[str, list[tuple[str, str | None, tuple[int, int]]]] = defaultdict(list)
    if corpus.is_dir():
        for row in map(json.loads, (corpus / "structure.jsonl").read_text().splitlines()):
            marked[row["path"]].append((row["section"], row["paragraph"], tuple(row["lines"])))
    for path, expected in marked.items():
        assert structure((corpus / "corpus" / path).read_text(), path) == expected, path
