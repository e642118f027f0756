"""`make install` and `make uninstall`, as far as they need no network: the files, into a DESTDIR."""

import subprocess
from pathlib import Path

from tests.systemd.unit_files import FOLDER, ROOT, unit


def make(target: str, destination: Path, *more: str) -> str:
    done = subprocess.run(
        ["make", "--silent", target, f"DESTDIR={destination}", *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_files_land_where_they_are_looked_for_and_go_again(tmp_path: Path) -> None:
    make("install-files", tmp_path)
    installed = files(tmp_path)
    units = "usr/local/lib/systemd/system"
    assert {f"{units}/{path.name}" for path in FOLDER.glob("sources*.[spt]*") if path.suffix != ".conf"} - {
        f"{units}/sources-.service.d"
    } <= installed
    assert {
        f"{units}/sources-.service.d/sandbox.conf",
        "usr/local/lib/sysusers.d/sources.conf",
        "usr/local/lib/tmpfiles.d/sources.conf",
        "usr/local/libexec/sources/webhook.py",
        "usr/local/share/doc/sources/sources.example.toml",
        "usr/local/share/doc/sources/examples/post-receive",
        "usr/local/share/doc/sources/monitoring/alerts.yml",
        "usr/local/share/man/man1/sources.1",
    } <= installed
    assert (tmp_path / "etc" / "sources").is_dir()
    # What is the host's own stays.
    (tmp_path / "etc/sources/sources.toml").write_text("mine")
    (tmp_path / "var/lib/sources").mkdir(parents=True)
    (tmp_path / "var/lib/sources/index.sqlite").write_text("mine")
    said = make("uninstall", tmp_path)
    assert files(tmp_path) == {"etc/sources/sources.toml", "var/lib/sources/index.sqlite"}
    assert "/etc/sources" in said and "/var/lib/sources" in said


def test_another_prefix_is_written_into_the_units_which_then_go_below_etc(tmp_path: Path) -> None:
    make("install-files", tmp_path, "PREFIX=/opt/sources")
    bot = (tmp_path / "etc/systemd/system/sources-bot.service").read_text()
    assert "ExecStart=/opt/sources/bin/sources --config /etc/sources/sources.toml bot" in bot
    for file in (tmp_path / "etc").rglob("*.*"):
        assert not file.is_file() or "/usr/local" not in file.read_text(), file
    make("uninstall", tmp_path, "PREFIX=/opt/sources")
    assert files(tmp_path) == set()


def test_a_python_that_units_do_not_see_is_refused(tmp_path: Path) -> None:
    """One that says it is in a home, as those of pyenv and uv are."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ncase "$2" in *realpath*) echo /home/alice/.pyenv/bin/python;; esac\n')
    python.chmod(0o755)
    done = subprocess.run(
        ["make", "--silent", "install-program", f"DESTDIR={tmp_path}", f"PYTHON={python}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "name another with make install PYTHON=" in done.stdout
    assert not (tmp_path / "usr").exists()


def test_the_user_that_is_made_is_the_one_that_units_run_as() -> None:
    users = (FOLDER / "sources.sysusers.conf").read_text()
    assert "\nu sources " in users and "\ng sources-wanted " in users
    wanted = (FOLDER / "sources.tmpfiles.conf").read_text()
    assert "d /run/sources/wanted 1770 sources sources-wanted" in wanted
    assert unit("sources-webhook.service").one("Service", "SupplementaryGroups") == "sources-wanted"
    assert unit("sources-refresh@.path").one("Path", "PathExists") == "/run/sources/wanted/%i"
