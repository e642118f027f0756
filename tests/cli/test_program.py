"""The frame of the command line: what is loaded, how runs end, what each ending means to a script."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from index.errors import (
    BusyError,
    ConfigError,
    CredentialError,
    EmbedderError,
    EngineError,
    ForgeError,
    MatrixError,
    QueryError,
    ReindexNeededError,
    SourcesError,
    StoreError,
)
from sources.cli.exits import Exit, exit_of
from sources.cli.main import COMMANDS, group

ROOT = Path(__file__).parents[2]
HEAVY = {"structlog", "httpx", "rich", "yaml", "markdown_it", "nio", "numpy", "onnxruntime", "simplemma"}


def python(code: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
    )


def test_the_list_of_commands_loads_none_of_them_and_nothing_heavy() -> None:
    ended = python(
        "import sys\nfrom sources.cli.main import run, COMMANDS\nassert run(['--help']) == 0\n"
        "loaded = {entry.module for entry in COMMANDS.values()} & set(sys.modules)\n"
        f"print('LOADED', sorted(loaded | ({HEAVY!r} & set(sys.modules))))"
    )
    assert ended.stdout.splitlines()[-1] == "LOADED []", ended.stderr


def test_the_installed_program_looks_for_garbage_once_its_command_is_there() -> None:
    ended = python(
        "import gc, sys\nfrom sources.cli.start import main\n"
        "sys.argv = ['sources', 'completion', 'bash']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code, gc.isenabled())"
    )
    assert ended.stdout.splitlines()[-1] == "0 True", ended.stderr


def test_the_installed_program_is_interrupted_in_one_line_also_while_it_is_imported() -> None:
    ended = python(
        "import sys\n"
        "class Impatient:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'sources.cli.main':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient())\n"
        "from sources.cli.start import main\n"
        "main()"
    )
    assert (ended.returncode, ended.stderr) == (Exit.INTERRUPTED, "sources: interrupted\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_a_command_what_its_own_help_says(name: str) -> None:
    with group.make_context("sources", ["--help"], resilient_parsing=True) as context:
        command = group.get_command(context, name)
    assert command is not None
    assert (command.help or "").split("\n")[0] == COMMANDS[name].help
    assert CliRunner().invoke(group, [name, "--help"]).exit_code == 0


OPTIONS = ["--config", "x", "--credentials-dir", "y", "--json", "--quiet", "-v"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_common_options_stand_before_any_command(name: str) -> None:
    assert CliRunner().invoke(group, [*OPTIONS, name, "--help"]).exit_code == 0


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "scrub"])  # which reads no configuration
def test_the_common_options_stand_after_any_command_too(name: str) -> None:
    assert CliRunner().invoke(group, [name, *OPTIONS, "--help"]).exit_code == 0


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ConfigError, 2),
        (QueryError, 2),
        (StoreError, 3),
        (EngineError, 3),
        (EmbedderError, 3),
        (MatrixError, 3),
        (ForgeError, 3),
        (CredentialError, 4),
        (ReindexNeededError, 5),
        (BusyError, 6),
    ],
)
def test_each_error_has_its_exit_code(kind: type[SourcesError], code: int) -> None:
    assert exit_of(kind("x")) == code


def run_with(body: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A run whose only command does what `body` says."""
    return python(
        "import sys, click\nimport sources.cli.main as main\n"
        "@click.command()\n@click.pass_obj\ndef command(invocation):\n"
        + "".join(f"    {line}\n" for line in body.split("\n"))
        + "module = type(sys)('made_up')\nmodule.command = command\nsys.modules['made_up'] = module\n"
        "main.COMMANDS['made-up'] = main.Entry('made_up', '')\nsys.argv = ['sources', 'made-up']\nmain.main()",
        environment,
    )


def test_a_command_returns_its_exit_code() -> None:
    assert run_with("return 1").returncode == 1
    assert run_with("return None").returncode == 0


def test_a_foreseen_error_is_one_line_per_problem_and_no_traceback() -> None:
    ended = run_with("from index.errors import ConfigError\nraise ConfigError('a: b: c (d)\\na: e: f (g)')")
    assert ended.returncode == 2
    assert ended.stderr == "sources: a: b: c (d)\nsources: a: e: f (g)\n"


def test_an_unforeseen_error_shows_where_and_is_not_taken_for_no_hits() -> None:
    ended = run_with("raise KeyError('x')")
    assert ended.returncode == 70
    assert "Traceback" in ended.stderr
    assert "KeyError: 'x'" in ended.stderr


def test_an_interrupt_ends_without_a_traceback() -> None:
    ended = run_with("raise KeyboardInterrupt")
    assert ended.returncode == 130
    assert ended.stderr == "sources: interrupted\n"


def test_a_reader_that_goes_away_ends_the_run_without_a_word() -> None:
    ended = run_with("import os\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)\nprint('x' * 100_000)")
    assert ended.returncode == 141
    assert ended.stderr == ""


def test_a_full_disk_is_one_line_and_no_bug() -> None:
    ended = run_with("import os\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nprint('x' * 100_000)\nreturn 0")
    assert ended.returncode == 3
    assert ended.stderr.startswith("sources: the output: cannot be written: No space left on device (")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_stream_that_was_closed_before_the_start_leads_nowhere_and_is_no_bug(closed: tuple[int, ...]) -> None:
    code = "import sys; from sources.cli.main import main; sys.argv = ['sources', 'completion', 'bash']; main()"
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" ' + " ".join(f"{number}>&-" for number in closed), "sh", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
    )
    assert (ended.returncode, ended.stderr) == (Exit.FINE, "")
    assert bool(ended.stdout) == (1 not in closed)


def test_output_that_the_terminal_cannot_spell_is_escaped() -> None:
    ended = run_with("print('› \\ud800')\nreturn 0", environment={"PYTHONIOENCODING": "ascii"})
    assert ended.returncode == 0
    assert ended.stdout == "\\u203a \\ud800\n"


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["toc", "--tag", "\udcff"], "--tag"),
        (["chat-purge", "--sender", "@\udcff:b"], "--sender"),
        (["chat-purge", "--room", "!\udcff:b", "--all"], "--room"),
        (["chat-purge", "--room", "!a:b", "--event", "$\udcff"], "--event"),
        (["chat-purge", "--sender", "@a:b", "--reason", "\udcff"], "--reason"),
    ],
)
def test_an_option_that_is_not_utf_8_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], option: str
) -> None:
    from sources.cli.main import run

    assert run(arguments) == 2
    assert f"Invalid value for '{option}': is not UTF-8" in capsys.readouterr().err


def test_a_mistyped_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    from sources.cli.main import run

    assert run(["chek"]) == 2
    assert "did you mean check?" in capsys.readouterr().err


def test_a_wrong_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    from sources.cli.main import run

    assert run(["--nonsense"]) == 2
    assert "No such option" in capsys.readouterr().err
