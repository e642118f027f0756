"""What a program may do under a unit: `confined` starts one with the unit's restrictions, and says which took hold."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.systemd.unit_files import ROOT, Unit

CONFINE = Path(__file__).with_name("confine.py")
UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
# Said by the manager itself and not by the kernel, or of no consequence to a program that works: nothing to try.
UNTRIED = frozenset(
    {"Type", "User", "StateDirectory", "StateDirectoryMode", "ExecStart", "ExecStartPre", "ExecReload", "Nice"}
    | {"IOSchedulingClass", "TimeoutStartSec", "TimeoutStopSec", "WatchdogSec", "WatchdogSignal", "Restart"}
    | {"RestartSec", "RestartPreventExitStatus", "LoadCredential", "DynamicUser", "SupplementaryGroups", "Environment"}
    | {"MemoryMax", "TasksMax", "IPAddressDeny", "IPAddressAllow", "RemoveIPC", "KeyringMode", "PrivateUsers"}
    | {"DevicePolicy", "AmbientCapabilities", "PrivateMounts", "RestrictRealtime", "SystemCallErrorNumber"}
    | {"SystemCallArchitectures", "ProtectHostname", "ProtectClock", "ReadWritePaths"}
    # Of /proc and /sys: with a read-only root and no capability there is nothing left for these to take.
    | {"ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups"}
)


def layers(unit: Unit, *, writable: Sequence[Path], is_alone: bool) -> dict[str, Any]:
    """The unit's settings as layers of `confine.py`. `is_alone`: no network but loopback, which no unit says."""
    found: dict[str, Any] = {"loopback": None} if is_alone else {}
    for key in sorted(unit.keys("Service") - UNTRIED):
        value = unit.one("Service", key)
        match key:
            case "ProtectSystem":
                assert value == "strict"
                found[key] = [str(path) for path in writable]
            case "UMask":
                found[key] = int(value or "", 8)
            case "LimitCORE":
                found[key] = int(value or "")
            case "ProtectProc":
                found[key] = f"hidepid={value}"
            case "RestrictAddressFamilies":
                found[key] = [int(getattr(socket, name)) for name in (value or "").split()]
            case "SystemCallFilter":
                found[key] = sorted(calls(tuple(unit.all("Service", key))))
            case "CapabilityBoundingSet":
                assert not value
                found[key] = None
            case _:
                assert value == "true", f"{unit.name}: {key}={value}: confine.py knows no such layer"
                found[key] = None
    return found


@cache
def calls(filters: tuple[str, ...]) -> frozenset[str]:
    """What an allow list and the lists taken from it come to; empty where nobody can say what the groups hold."""
    if shutil.which("systemd-analyze") is None:
        return frozenset()
    allowed: set[str] = set()
    for line in filters:
        names = {call for name in line.removeprefix("~").split() for call in _members(name)}
        allowed = allowed - names if line.startswith("~") else allowed | names
    return frozenset(allowed)


@cache
def _members(name: str) -> frozenset[str]:
    if not name.startswith("@"):
        return frozenset({name})
    told = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager", name], capture_output=True, text=True, check=True
    )
    lines = [line.strip() for line in told.stdout.splitlines()[1:]]
    return frozenset(call for line in lines if line and line[0] != "#" for call in _members(line))


@dataclass(slots=True)
class Confined:
    """`folder` is the one place that can be written to, as the state directory is."""

    folder: Path
    report: Path
    took_hold: dict[str, str] = field(default_factory=dict)

    def command(
        self, unit: Unit, *program: str, is_alone: bool = True, writable: Sequence[Path] | None = None
    ) -> list[str]:
        """What to start instead of the program."""
        found = namespaces()
        wanted = {
            "layers": layers(unit, writable=[self.folder] if writable is None else writable, is_alone=is_alone),
            "kept": [str(path) for path in kept(self.folder)],
            "report": str(self.report),
            "has_namespaces": found is not None,
        }
        file = self.folder / f"confine-{unit.name}.json"
        file.write_text(json.dumps(wanted))
        start = [] if found is None else [*UNSHARE, *found, *(["--net"] if is_alone else [])]
        return [*start, sys.executable, "-I", str(CONFINE), str(file), *program]

    def run(self, unit: Unit, *program: str, environment: Mapping[str, str] | None = None, **how: Any) -> Any:
        """To its end; `took_hold` is what became of each layer."""
        done = subprocess.run(
            self.command(unit, *program, **how),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **(environment or {})},
        )
        assert self.report.exists(), done.stderr
        self.took_hold = json.loads(self.report.read_text())
        return done


def kept(folder: Path) -> list[Path]:
    """What a program needs of a tree in a home or below /tmp: where pyenv, a checkout or pytest put it."""
    wanted = [folder, ROOT, Path(sys.prefix), Path(sys.base_prefix)]
    return [path for path in wanted if not any(path != other and path.is_relative_to(other) for other in wanted)]


@cache
def namespaces() -> tuple[str, ...] | None:
    """Nothing more for root; else a namespace of users, where the kernel lets everyone have one; None: not here.

    Without them the program runs under all the other layers.
    """
    if shutil.which(UNSHARE[0]) is None:
        return None
    for more in ((), ("--user", "--map-root-user")):
        tried = subprocess.run([*UNSHARE, "--net", *more, "true"], capture_output=True, check=False)
        if tried.returncode == 0:
            return more
    return None


def least_applied() -> set[str]:
    """Layers that hold on every machine, so that no test runs under nothing."""
    return {"NoNewPrivileges", "LimitCORE"} | (set() if namespaces() is None else {"ProtectSystem", "PrivateTmp"})


@pytest.fixture
def confined(tmp_path: Path) -> Callable[[str], Confined]:
    def make(name: str) -> Confined:
        folder = tmp_path / name
        folder.mkdir()
        return Confined(folder, folder / "layers.json")

    return make
