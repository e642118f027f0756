"""The pages hang together: links lead somewhere, examples are real, every command and setting has its place."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from urllib.parse import unquote

import click
import pytest
import yaml

from sources.cli.main import COMMANDS, group
from sources.config.load import parse

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(text: str) -> str:
    """Without what stands in fences and backquotes, where a bracket is no link."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors(page: Path) -> set[str]:
    """Of its headings, as Python-Markdown and forges make them."""
    headings = re.findall(r"(?m)^#+ (.*)$", FENCE.sub("", page.read_text()))
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def links(page: Path) -> Iterator[tuple[Path, str]]:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text())):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = unquote(target).partition("#")
            yield ((page.parent / path).resolve() if path else page), anchor


@each_page
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists() and target.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(target), f"{target.name}#{anchor}"


@each_page
def test_every_configuration_in_an_example_is_one(page: Path, tmp_path: Path) -> None:
    for language, text in FENCE.findall(page.read_text()):
        if language == "toml":
            parse(text, name=page.name, base=tmp_path)


def commands_in(page: Path) -> Iterator[list[str]]:
    """What a host would type, in blocks of code: lines that begin with `sources`."""
    text = page.read_text()
    blocks = [body for language, body in FENCE.findall(text) if language in ("", "sh", "bash")]
    blocks += re.findall(r"(?m)(?:^ {4,}.*\n)+", FENCE.sub("", text))
    for line in "\n".join(blocks).splitlines():
        if re.match(r"\s*sources [a-z]", line):
            words = shlex.split(re.split(r"\s{2,}#? ?|[|<>;&]", line.strip(), maxsplit=1)[0], comments=True)
            yield words[1:]


@each_page
def test_every_command_in_an_example_takes_the_options_that_it_shows(page: Path) -> None:
    with group.make_context("sources", ["--help"], resilient_parsing=True) as context:
        for name, *arguments in commands_in(page):
            assert name in COMMANDS, f"sources {name}"
            command = group.get_command(context, name)
            assert command is not None
            options = [option for option in command.params if isinstance(option, click.Option)]
            known = {one for option in options for one in (*option.opts, *option.secondary_opts)}
            shown = {word.partition("=")[0] for word in arguments if re.match(r"--[a-z]", word)}
            assert shown <= known, f"sources {name}: {shown - known}"


def test_examples_of_commands_are_found_at_all() -> None:
    found = [words[0] for page in PAGES for words in commands_in(page)]
    assert {"refresh", "status", "chat-purge", "search"} <= set(found)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_place_in_the_reference(name: str) -> None:
    assert f"## `sources {name}`\n" in (ROOT / "docs" / "commands.md").read_text()


def navigation() -> set[str]:
    def leaves(value: object) -> Iterator[str]:
        match value:
            case str():
                yield value
            case list() | dict():
                for one in value.values() if isinstance(value, dict) else value:
                    yield from leaves(one)

    return set(leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    assert navigation() == {page.name for page in (ROOT / "docs").glob("*.md")}


def test_every_page_begins_with_one_title() -> None:
    wrong = [page.name for page in PAGES if not re.match(r"# \S", page.read_text())]
    assert wrong == []


def test_nothing_is_fetched_from_elsewhere_when_a_page_is_read() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert site["theme"]["font"] is False
    for page in PAGES:
        assert re.findall(r"!\[[^\]]*\]\(https?:", page.read_text()) == [], page.name


def test_what_a_page_links_to_outside_of_the_pages_is_beside_it_in_the_built_site(tmp_path: Path) -> None:
    hooks = run_path(str(ROOT / "mkdocs_hooks.py"))
    for page in (ROOT / "docs").glob("*.md"):
        built = hooks["on_page_markdown"](page.read_text())
        assert "](../" not in built, page.name
    hooks["on_post_build"]({"site_dir": str(tmp_path)})
    assert (tmp_path / "examples" / "webhook.py").read_bytes() == (ROOT / "examples" / "webhook.py").read_bytes()
