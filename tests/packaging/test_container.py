"""What the image is built from is there, and nothing else of the tree gets into it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Containerfile").read_text().replace("\\\n", " ").splitlines()
PAGE = (ROOT / "docs" / "container.md").read_text()


def copied() -> list[str]:
    lines = (line.split()[1:-1] for line in LINES if line.startswith("COPY ") and "--from" not in line)
    return [name.removeprefix("./") for names in lines for name in names]


def test_every_file_that_is_copied_is_there_and_let_in() -> None:
    first, *rest = (ROOT / ".containerignore").read_text().split()
    assert first == "*"
    let_in = {line.removeprefix("!") for line in rest if line.startswith("!")}
    assert [name for name in copied() if not (ROOT / name).exists()] == []
    assert set(copied()) == let_in


def test_everything_that_a_wheel_is_made_of_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = {glob.rstrip("*") for glob in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    beside = {name.split("/")[0] for files in project["tool"]["setuptools"]["data-files"].values() for name in files}
    needed = {*packages, *beside, "pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    assert needed <= set(copied())


def test_every_extra_that_it_installs_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    named = re.findall(r"EXTRAS=([a-z,]+)", "\n".join([*LINES, PAGE]))
    assert len(named) == 2
    assert {extra for one in named for extra in one.split(",")} <= extras


def test_it_runs_as_a_user_and_stops_as_the_bot_expects() -> None:
    last = LINES[max(number for number, line in enumerate(LINES) if line.startswith("FROM ")) :]
    assert "USER sources" in last and "STOPSIGNAL SIGTERM" in last
    assert last.index("USER sources") > max(n for n, line in enumerate(last) if line.startswith("RUN "))
    assert not any("token" in line.casefold() or "password" in line.casefold() for line in LINES)


def test_the_page_runs_it_without_root_rights_and_on_a_read_only_root() -> None:
    for option in ("--read-only", "--cap-drop all", "no-new-privileges", "--userns keep-id", "mode=0400"):
        assert option in PAGE
    [folder] = re.findall(r"CREDENTIALS_DIRECTORY=(\S+)", "\n".join(LINES))
    assert set(re.findall(r"target=(\S+)/[\w-]+,", PAGE)) == {folder}
