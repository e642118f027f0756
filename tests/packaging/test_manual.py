"""The pages made from the help are current, and shells complete what there is."""

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from sources.cli import manual_man, manual_markdown
from sources.cli.completion import SHELLS, VARIABLE, script
from sources.cli.exits import Exit
from sources.cli.main import COMMANDS, group
from sources.cli.manual import EXITS, common_options, pages

ROOT = Path(__file__).parents[2]


def test_the_reference_of_commands_is_what_the_help_says() -> None:
    assert (ROOT / "docs" / "commands.md").read_text() == manual_markdown.page(), (
        "run: python -m sources.cli.manual markdown > docs/commands.md"
    )


def test_the_man_page_is_what_the_help_says() -> None:
    assert (ROOT / "man" / "sources.1").read_text() == manual_man.page(), (
        "run: python -m sources.cli.manual man > man/sources.1"
    )


def test_every_command_option_and_exit_code_is_on_the_pages() -> None:
    assert [page.name for page in pages()] == list(COMMANDS)
    assert list(EXITS) == list(Exit)
    shown = set(" ".join(option.names for option in common_options()).replace(",", "").split())
    assert {"-q", "--quiet", "--json", "--version"} <= shown
    assert [(page.name, one.names) for page in pages() for one in page.options if not one.help] == []


MACROS = {"TH", "SH", "SS", "PP", "TP", "B", "nf", "fi"}
"""Of man(7), those that are used."""
ESCAPE = re.compile(r"\\(?:[-e&]|f[BIR]|\(aq|\[u[0-9A-F]{4,6}\])")


def test_the_man_page_is_made_of_known_macros_and_whole_escapes() -> None:
    """What groff would warn of, without groff: text that is taken for a request, a macro or escape that is none."""
    lines = (ROOT / "man" / "sources.1").read_text().splitlines()
    assert lines[0].startswith('.\\" ') and lines[1].startswith(".TH SOURCES 1 ")
    requests = [line for line in lines[1:] if line.startswith((".", "'"))]
    assert [line for line in requests if line.split()[0].removeprefix(".") not in MACROS] == []
    assert [line for line in requests if line.split()[0] in (".PP", ".TP", ".nf", ".fi") and " " in line] == []
    assert [line for line in lines[1:] if not line.isascii() or "\\" in ESCAPE.sub("", line)] == []
    fills = [line for line in lines if line in (".nf", ".fi")]
    assert fills == [".nf", ".fi"] * (len(fills) // 2)
    assert [two for two in pairwise(lines) if two[0] in (".TP", ".B") and two[1].startswith(".")] == []


@pytest.mark.parametrize("text", [".so /etc/passwd", "'br", "a \\n(.z b", "a\u2019s `bold`"])
def test_no_text_becomes_a_request_of_the_man_page(text: str) -> None:
    set_ = manual_man.escaped(text)
    assert not set_.startswith((".", "'"))
    assert set_.isascii() and "\\" not in ESCAPE.sub("", set_)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_man_page_is_set_without_a_warning() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-P-cbou", "-ww", "man/sources.1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stderr == ""
    assert "sources refresh" in done.stdout


def completed(words: str, incomplete: str) -> list[str]:
    answering = BashComplete(group, {}, "sources", VARIABLE)
    return [item.value for item in answering.get_completions(words.split(), incomplete)]


def test_commands_options_and_sources_are_completed() -> None:
    assert completed("", "veri") == ["verify"]
    assert completed("search", "--lex") == ["--lexical"]
    asked = f"--config {ROOT / 'sources.example.toml'} toc --source"
    assert completed(asked, "hand") == ["handbook"]
    assert completed(asked, "repo:h") == ["repo:handbook"]


def test_without_a_configuration_a_shell_is_answered_with_nothing() -> None:
    assert completed("--config /no/such/file toc --source", "x") == []


def test_the_program_answers_a_shell() -> None:
    environment = {**os.environ, VARIABLE: "bash_complete", "COMP_WORDS": "sources sea", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from sources.cli.main import main; main()"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("plain,search\n", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_a_script(shell: str) -> None:
    result = CliRunner().invoke(group, ["completion", shell])
    assert result.output.strip() == script(shell)
    assert VARIABLE in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_sound(shell: str) -> None:
    if shell != "bash" and shutil.which(shell) is None:  # there is always a bash
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n"], input=script(shell), capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
