"""One file in, one document out, or one reason why not."""

import codecs
import os
import random

import pytest
from msgspec.structs import replace

from index.model import Corpus, Document, Kind, SourceId
from ingest.forge.documents import Rules, Skipped, document, id_of

SOURCE = SourceId("repo:house")


def as_is(text: str) -> str:
    return text


def read(path: str, data: bytes | str, **changes: object) -> Document | Skipped:
    data = data.encode() if isinstance(data, str) else data
    given: dict[str, object] = {"corpus": Corpus.FORGE, "scrub": as_is, **changes}
    return document(source=SOURCE, path=path, revision="blob", data=data, **given)  # type: ignore[arg-type]  # per test


def indexed(path: str, data: bytes | str, **changes: object) -> Document:
    result = read(path, data, **changes)
    assert isinstance(result, Document), result
    return result


def reason(path: str, data: bytes | str, **changes: object) -> str:
    result = read(path, data, **changes)
    assert isinstance(result, Skipped), result
    return result.reason


def test_a_page_becomes_a_document_with_title_headings_lines_and_payload() -> None:
    page = "---\ntags: [power, ups]\narea: cellar\n---\n# Power\n\nIntro.\n\n## When it fails {#fails}\n\nWait.\n"
    found = indexed("docs/power.md", page)
    assert (found.title, found.kind, found.path) == ("Power", Kind.DOC, "docs/power.md")
    assert found.payload == {"tags": ("power", "ups"), "area": ("cellar",)}
    assert [(c.heading, c.lines, c.text) for c in found.chunks] == [
        (("Power",), (5, 7), "# Power\n\nIntro."),
        (("Power", "When it fails"), (9, 11), "## When it fails {#fails}\n\nWait."),
    ]


def test_the_title_is_the_fields_then_the_first_headings_then_the_files() -> None:
    assert indexed("a/note.md", "---\ntitle: Field\n---\n# Heading\n\ntext").title == "Field"
    assert indexed("a/note.md", "intro\n\n# Heading\n\ntext").title == "Heading"
    assert indexed("a/note.md", "## Second level\n\ntext").title == "note"
    assert indexed("a/note.md", '<h1 align="center">The <b>house</b></h1>\n\ntext').title == "The house"


def test_a_title_that_is_not_the_first_heading_stands_above_it() -> None:
    found = indexed("a.md", "---\ntitle: Field\n---\n# Heading\n\ntext")
    assert found.chunks[0].heading == ("Field", "Heading")


def test_names_that_look_alike_are_documents_of_their_own() -> None:
    names = ["my file.md", "my-file.md", "README.md", "readme.md"]
    assert len({indexed(name, "text").id for name in names}) == len(names)


def test_two_paths_that_are_shown_alike_have_two_ids() -> None:
    names = [os.fsdecode(b"caf\xe9.md"), os.fsdecode(b"caf\xe8.md")]
    found = [indexed(name, "text") for name in names]
    assert found[0].path == found[1].path == "caf\ufffd.md"
    assert found[0].id != found[1].id
    assert id_of(SOURCE, names[0], as_is) == found[0].id


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\0b", "binary: holds a NUL byte"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "LFS pointer"),
        (b"", "nothing to index"),
        (b" \n\n---\n", "nothing to index"),
        (b"---\ntags: x\n---\n", "nothing to index"),
    ],
)
def test_a_file_that_gives_nothing_says_why(data: bytes, expected: str) -> None:
    assert reason("page.md", data).startswith(expected)


def test_a_file_over_the_limit_is_skipped_with_both_sizes() -> None:
    assert reason("page.md", b"a" * 11, rules=Rules(max_bytes=10)) == "too large: 11 bytes, the limit is 10"
    assert "lines" in reason("page.md", b"a\n" * 11, rules=Rules(max_lines=10))


def test_a_file_of_no_known_kind_is_skipped() -> None:
    assert reason("picture.svg", "<svg/>") == "not a kind of file that is indexed"
    assert reason("program", "no shebang") == "not a kind of file that is indexed"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1250"])
def test_a_page_is_decoded_whatever_its_encoding(encoding: str) -> None:
    text = "# Příliš žluťoučký kůň\n\núpěl ďábelské ódy\n"
    assert indexed("kůň.md", text.encode(encoding)).title == "Příliš žluťoučký kůň"


def test_western_letters_are_not_taken_for_central_european_ones() -> None:
    assert indexed("a.md", "# Où est la forêt à l'île?\n\nça".encode("cp1252")).title == "Où est la forêt à l'île?"


def test_a_few_broken_bytes_cost_only_themselves_and_are_flagged() -> None:
    found = indexed("a.md", "# Kůň\n\nžluťoučký ".encode() + b"\xff\n\n# Next\n\nfine\n")
    assert found.title == "Kůň"
    assert [chunk.flags for chunk in found.chunks] == [("damaged-encoding",), ()]


def test_line_ends_of_every_system_give_the_same_chunks() -> None:
    page = "# A\n\none\n\n## B\n\ntwo\n"
    assert len({indexed("a.md", page.replace("\n", end)).chunks for end in ("\n", "\r\n", "\r")}) == 1


def test_a_byte_order_mark_hides_no_front_matter() -> None:
    assert indexed("a.md", codecs.BOM_UTF8 + b"---\ntitle: T\n---\ntext").title == "T"


def test_a_page_with_nothing_but_a_title_is_found_by_it() -> None:
    found = indexed("menu.md", "---\ntitle: How-to guides\nnavigation: 3\n---\n")
    assert [(chunk.text, chunk.lines) for chunk in found.chunks] == [("How-to guides", (1, 4))]


def test_wrong_fields_are_left_out_and_named() -> None:
    found = indexed("a.md", "---\nlevel: [1, 2]\ntags: {a: b}\narea: attic\n---\ntext")
    assert found.payload == {"area": ("attic",)}
    assert found.faults == (
        "level: expected a text, found a list",
        "tags: expected a list of words: expected a text, found a mapping",
    )


def secret() -> str:
    return "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=24))


def test_nothing_of_a_secret_reaches_a_document() -> None:
    word = secret()
    half = len(word) // 2
    page = (
        f"---\ntitle: {word}\ntags: [{word}]\nperiod: {word}\n---\n# Head {word}\n\n{word}\n\n"
        f"## {word[:half]}**{word[half:]}**\n\n```\n{word}\n```\n\n| {word} |\n|---|\n| {word} |\n"
    )
    scrub = lambda text: text.replace(word, "[redacted]")  # noqa: E731
    shown = replace(indexed(f"a/{word}.md", page, scrub=scrub), id=id_of(SOURCE, f"a/{word}.md", scrub))
    assert word not in repr(shown)


def test_a_secret_of_several_lines_in_a_comment_is_gone_and_lines_stay_true() -> None:
    key = "BEGIN\n" + "\n".join(secret()[i : i + 6] for i in range(0, 24, 6)) + "\nEND"
    comment = "".join(f"# {line}\n" for line in f"keys.sh - about keys\n\nPURPOSE\nold\n\n{key}\n\nafter".split("\n"))
    scrub = lambda text: text.replace(key, "[redacted key]")  # noqa: E731
    found = indexed("keys.sh", "#!/bin/sh\n" + comment + "\nset -eu\n", scrub=scrub)
    assert secret()[:6] not in repr(found)
    assert found.chunks[-1].lines == (2, 14)


def test_lines_stay_true_below_a_secret_that_shrank() -> None:
    key = "BEGIN\nsecret\nsecret\nEND"
    page = f"# A\n\n{key}\n\n## B\n\nbelow\n"
    found = indexed("a.md", page, scrub=lambda text: text.replace(key, "[redacted]"))
    assert [(chunk.heading, chunk.lines) for chunk in found.chunks] == [(("A",), (1, 6)), (("A", "B"), (8, 10))]


def test_an_edit_in_one_section_leaves_the_ids_of_the_others() -> None:
    before = indexed("a.md", "# A\n\none\n\n## B\n\ntwo\n\n## C\n\nthree\n")
    after = indexed("a.md", "# A\n\none\n\nmore\n\n## B2\n\ntwo\n\n## C\n\nthree\n")
    assert before.chunks[0].id == after.chunks[0].id
    assert before.chunks[2].id == after.chunks[2].id
    assert before.chunks[1].id != after.chunks[1].id


def test_sections_of_the_same_name_have_ids_of_their_own() -> None:
    found = indexed("a.md", "# A\n\n## Example\n\none\n\n## Example\n\ntwo\n")
    assert len({chunk.id for chunk in found.chunks}) == len(found.chunks) == 2


def test_in_a_folder_of_notes_pages_are_notes() -> None:
    assert indexed("README.md", "text", corpus=Corpus.NOTES).kind is Kind.NOTE
    assert indexed("x.sh", "# says hello\n", corpus=Corpus.NOTES).kind is Kind.HEADER


def test_a_link_is_noticed() -> None:
    assert indexed("a.md", "see [there](b.md)").has_link
    assert not indexed("a.md", "see there").has_link
