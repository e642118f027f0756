"""The examples and the reference that a host starts from are whole and true."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sources.config.decode import Decoder, Setting, settings
from sources.config.load import load, parse
from sources.config.model import Config
from sources.config.reference import page
from sources.credentials import KNOWN, Credentials

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "sources.example.toml"


def every_setting(table: type = Config, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Setting]]:
    for setting in settings(table):
        if setting.table is None:
            yield (*at, setting.key), setting
        else:
            yield from every_setting(setting.table, (*at, setting.key))


def with_all_settings() -> str:
    """The example with its commented settings switched on: those with no blank after the #."""
    return re.sub(r"(?m)^#(?=\S)", "", EXAMPLE.read_text())


def test_the_example_is_a_configuration_as_it_stands() -> None:
    config = load(EXAMPLE)
    assert [repo.name for repo in config.repo] == ["handbook"]


def test_a_copy_with_one_table_less_is_one_too() -> None:
    """What a host deletes first: everything but the repository."""
    start = EXAMPLE.read_text().index("[[repo]]")
    end = EXAMPLE.read_text().index("# One table for each folder of Markdown")
    assert parse(EXAMPLE.read_text()[start:end], name="sources.toml", base=ROOT).repo


@pytest.mark.parametrize(
    ("path", "setting"), list(every_setting()), ids=lambda value: ".".join(value) if isinstance(value, tuple) else ""
)
def test_the_example_shows_every_setting_and_its_default(path: tuple[str, ...], setting: Setting) -> None:
    table = tomllib.loads(with_all_settings())
    for name in path[:-1]:
        inner = table[name]
        table = inner[0] if isinstance(inner, list) else inner
    raw = table[path[-1]]
    decoder = Decoder(Path("/etc"), lambda table: ())
    [value] = [decoder._value(setting, raw, "x")]
    assert decoder.problems == []
    # Where nothing would be shown otherwise, and in the tables that cannot be without, the example has a value instead.
    is_shown_by_example = setting.is_required or setting.default in (None, (), {}) or path == ("repo", "public")
    assert is_shown_by_example or value == setting.default


def test_every_setting_has_an_explanation() -> None:
    assert [path for path, setting in every_setting() if not setting.explanation.endswith(".")] == []


def test_the_reference_is_what_the_code_says() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text() == page(), (
        "run: python -m sources.config.reference > docs/configuration.md"
    )


def test_every_credential_is_listed_and_its_command_makes_one_that_is_accepted(tmp_path: Path) -> None:
    text = (ROOT / "credentials.example").read_text()
    assert re.findall(r"(?m)^# ([a-z-]+): ", text) == [credential.name for credential in KNOWN]
    (tmp_path / "credentials").mkdir(mode=0o700)
    commands = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(commands) == len(KNOWN)
    for command, credential in zip(commands, KNOWN, strict=True):
        word = f"word-for-{credential.name}"
        subprocess.run(["sh", "-c", command], input=f"{word}\n", text=True, check=True, cwd=tmp_path, timeout=20)
        assert Credentials(tmp_path / "credentials").read(credential.name).reveal() == word
