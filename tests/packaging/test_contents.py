"""What is built from the tree holds everything the program opens, and nothing that only its makers need."""

import ast
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = ("sources", "bot", "ingest", "index", "matrix")
MAKERS_ONLY = {"README.md"}


def tracked(*paths: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


def test_every_file_beside_the_code_is_in_the_wheel() -> None:
    globs = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    beside = [path for path in tracked(*PACKAGES) if path.suffix != ".py" and path.name not in MAKERS_ONLY]
    assert beside
    assert [path for path in beside if not any(fnmatch(path.name, glob) for glob in globs)] == []


def test_every_file_that_code_opens_beside_itself_is_there_and_is_shipped() -> None:
    """Names given to `with_name` or `joinpath` of a module's own place."""
    opened = []
    for path in tracked(*PACKAGES):
        text = (ROOT / path).read_text() if path.suffix == ".py" else ""
        if "__file__" in text or "importlib.resources" in text:
            names = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
            beside = (name for name in names if isinstance(name, str) and re.fullmatch(r"[\w-]+\.(txt|toml|py)", name))
            opened += [path.parent / name for name in beside if (ROOT / path.parent / name).exists()]
    assert {path.name for path in opened} >= {"gitconfig.txt", "reference.txt", "synapse_process.py"}
    assert [path for path in opened if path not in tracked(*PACKAGES)] == []


def test_every_folder_of_code_is_a_package_that_is_found() -> None:
    include = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    folders = {path.parent for path in tracked(*PACKAGES) if path.suffix == ".py"}
    assert [one for one in folders if not any(fnmatch(".".join(one.parts), glob) for glob in include)] == []
    assert [one for one in folders if not (ROOT / one / "__init__.py").exists()] == []
    assert not any(fnmatch(name, glob) for name in ("tests", "bench", "examples") for glob in include)


def test_the_licence_is_whole_and_named() -> None:
    project = PROJECT["project"]
    assert (project["license"], project["license-files"]) == ("AGPL-3.0-or-later", ["LICENSE"])
    text = (ROOT / "LICENSE").read_text()
    assert "GNU AFFERO GENERAL PUBLIC LICENSE" in text.splitlines()[0]
    assert "13. Remote Network Interaction" in text and "END OF TERMS AND CONDITIONS" in text


def test_what_is_installed_beside_the_packages_is_in_the_tree() -> None:
    for files in PROJECT["tool"]["setuptools"]["data-files"].values():
        assert [name for name in files if not (ROOT / name).is_file()] == []


def test_the_source_archive_names_only_what_is_there() -> None:
    for line in (ROOT / "MANIFEST.in").read_text().splitlines():
        command, *words = line.split()
        if command == "include":
            assert [name for name in words if not (ROOT / name).is_file()] == []
        elif command in ("recursive-include", "prune"):
            assert (ROOT / words[0]).is_dir(), line


def test_every_declared_library_is_pinned_and_nothing_else_is_said_there() -> None:
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.+!]*", line)] == []
    project = PROJECT["project"]
    listed = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    declared = {re.split(r"[<>=\[]", one)[0].lower().replace("_", "-") for one in listed}
    assert declared - {line.partition("==")[0].lower().replace("_", "-") for line in pins} == set()


def test_every_extra_that_the_texts_name_exists() -> None:
    extras = PROJECT["project"]["optional-dependencies"].keys()
    for path in [*tracked(*PACKAGES, "docs", "README.md", "Makefile", "Containerfile")]:
        if path.suffix in (".py", ".md", "") and (ROOT / path).is_file():
            for named in re.findall(r"sources\[([a-z,]+)\]", (ROOT / path).read_text()):
                assert set(named.split(",")) <= extras, path


def test_every_library_that_is_imported_is_declared() -> None:
    project = PROJECT["project"]
    extras = (one for name, listed in project["optional-dependencies"].items() if name != "dev" for one in listed)
    declared = {re.split(r"[<>=\[]", one)[0].lower().replace("_", "-") for one in [*project["dependencies"], *extras]}
    providers = packages_distributions()
    undeclared = {}
    for path in tracked(*PACKAGES):
        for name in re.findall(r"(?m)^ *(?:from|import) ([a-z]\w*)[\w.]* *(?:import|$)", (ROOT / path).read_text()):
            if path.suffix != ".py" or name in sys.stdlib_module_names or name in PACKAGES or name == "__future__":
                continue
            if not declared & {one.lower().replace("_", "-") for one in providers.get(name, [name])}:
                undeclared[name] = str(path)
    # Each comes with one that is declared: with the homeserver of the demo, and with matrix-nio.
    assert undeclared.keys() <= {"twisted", "aiohttp"}, undeclared
