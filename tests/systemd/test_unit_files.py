"""The units as files: what each promises, and what systemd itself says of them where it is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sources.cli.exits import Exit
from sources.cli.main import COMMANDS, run
from tests.systemd.unit_files import FOLDER, ROOT, Unit, services, unit

LEAST_EXPOSURE = 1.5
INSTANCE = "handbook"


needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed (apt-get install systemd)"
)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """As installed, but with programs that are here; a template is there as an instance too."""
    folder = tmp_path / "units"
    shutil.copytree(FOLDER, folder)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sources", "python"):
        (programs / name).symlink_to("/bin/true")
    for path in [*folder.glob("*.service"), *folder.glob("*.path"), *folder.glob("*.timer")]:
        path.write_text(re.sub(r"/usr/local/(lib/sources/)?bin/", f"{programs}/", path.read_text()))
        if "@" in path.name:
            (folder / path.name.replace("@", f"@{INSTANCE}")).write_text(path.read_text())
    return folder


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@needs_systemd
def test_systemd_has_nothing_to_say_against_them(units: Path) -> None:
    paths = [str(path) for pattern in ("*.service", "*.timer", "*.path") for path in units.glob(pattern)]
    checked = analyze("verify", *(path for path in paths if "@." not in path))
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@needs_systemd
def test_each_service_is_exposed_by_less_than_1_5(units: Path) -> None:
    scores = {}
    for path in units.glob("*.service"):
        if "@." not in path.name:
            told = analyze("security", "--offline=true", str(path)).stdout
            found = re.search(r"exposure level for \S+: ([0-9.]+)", told)
            assert found, told
            scores[path.name] = float(found[1])
    assert len(scores) == len(list(FOLDER.glob("*.service")))
    assert {name: score for name, score in scores.items() if score >= LEAST_EXPOSURE} == {}


@pytest.mark.parametrize("service", services(), ids=lambda service: service.name)
def test_each_service_is_confined_though_nobody_can_analyze_it(service: Unit) -> None:
    for key, value in {
        "ProtectSystem": "strict",
        "ProtectHome": "true",
        "PrivateTmp": "true",
        "PrivateDevices": "true",
        "PrivateUsers": "true",
        "NoNewPrivileges": "true",
        "MemoryDenyWriteExecute": "true",
        "RestrictNamespaces": "true",
        "CapabilityBoundingSet": None,
        "AmbientCapabilities": None,
        "SystemCallArchitectures": "native",
        "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
        "UMask": "0077",
    }.items():
        assert service.has("Service", key), key
        assert service.one("Service", key) == value, key
    assert service.all("Service", "SystemCallFilter") == ["@system-service", "~@privileged @resources"]
    assert service.one("Service", "User") == "sources" or service.one("Service", "DynamicUser") == "true"


@pytest.mark.parametrize("service", services(), ids=lambda service: service.name)
def test_each_command_line_is_one_that_the_program_takes(service: Unit, capsys: pytest.CaptureFixture[str]) -> None:
    """Every option of it is known: a unit is not the place to find out that one was renamed."""
    [line] = service.all("Service", "ExecStart")
    program, *arguments = line.split()
    if program.endswith("/sources"):
        assert arguments[:2] == ["--config", "/etc/sources/sources.toml"]
        command, *options = arguments[2:]
        assert command in COMMANDS
        assert run([command, *options, "--help"]) == Exit.FINE
        assert "Usage: sources" in capsys.readouterr().out
        # Help comes before faults: an option that is not known has to be asked for alone.
        assert run([command, *options, "--config", "/nowhere/sources.toml"]) == Exit.USAGE
        assert "No such option" not in (said := capsys.readouterr().err)
        assert "/nowhere/sources.toml: cannot be read" in said
    else:
        assert (ROOT / "examples" / Path(arguments[1]).name).is_file()


def test_the_bot_is_started_again_but_not_for_what_that_does_not_mend() -> None:
    bot = unit("sources-bot.service")
    assert (bot.one("Service", "Type"), bot.one("Service", "Restart")) == ("notify", "on-failure")
    prevented = {int(code) for code in (bot.one("Service", "RestartPreventExitStatus") or "").split()}
    assert prevented == {Exit.USAGE, Exit.CREDENTIAL}
    assert bot.one("Service", "WatchdogSec") == "60s"


def test_timers_make_up_for_what_was_missed_and_do_not_all_fire_at_once() -> None:
    for path in FOLDER.glob("*.timer"):
        timer = unit(path.name)
        assert timer.one("Timer", "Persistent") == "true"
        assert timer.has("Timer", "RandomizedDelaySec")
        assert (FOLDER / path.name.replace(".timer", ".service")).is_file()
        assert unit(path.name.replace(".timer", ".service")).one("Service", "Type") == "oneshot"


def test_each_unit_gets_the_credentials_that_it_needs_and_no_other() -> None:
    given = {service.name: set(service.all("Service", "LoadCredential")) for service in services()}
    assert given == {
        "sources-refresh.service": {"matrix-reader-token", "embed-api-key"},
        "sources-refresh@.service": {"matrix-reader-token", "embed-api-key"},
        "sources-bot.service": {"matrix-bot-token", "matrix-reader-token", "embed-api-key"},
        "sources-audit.service": {"audit-alert-url"},
        "sources-webhook.service": {"webhook-secret"},
    }
    for path in FOLDER.glob("*.service"):
        assert re.search(r"(?m)^#LoadCredentialEncrypted=", path.read_text()), path.name
