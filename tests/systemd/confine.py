"""Runs a program under the restrictions of a unit, as far as that goes without a service manager.

    python confine.py restrictions.json program argument...

Started by `unshare` in namespaces of its own, where those can be had. Each restriction is a layer; one that the kernel
refuses, or that needs a namespace or a library that is not there, is left out, with the reason. What was applied and
what was left out is written as JSON to the file `report` before the program takes this process's place. Needs nothing
but Python.
"""

import ctypes
import ctypes.util
import fcntl
import json
import os
import resource
import shutil
import socket
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY, SYS_MOUNT_SETATTR = -100, 0x8000, 1, 442
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, PR_SET_MDWE = 24, 38, 47, 4, 65
CLONE_NEW = 0x7E020080  # all namespaces
HOMES = ("/home", "/root", "/run/user")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
ALLOW, ERRNO, EPERM, ENOSYS, EAFNOSUPPORT = 0x7FFF0000, 0x00050000, 1, 38, 97


class LeftOutError(Exception):
    """Why a layer cannot be had here."""


def check(result: int, what: str) -> None:
    if result:
        raise LeftOutError(f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    check(libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()), f"mount {target}")


def set_read_only(path: str, *, is_read_only: bool, is_recursive: bool) -> None:
    attributes = struct.pack("QQQQ", *((MOUNT_ATTR_RDONLY, 0) if is_read_only else (0, MOUNT_ATTR_RDONLY)), 0, 0)
    flags = AT_RECURSIVE if is_recursive else 0
    check(libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, path.encode(), flags, attributes, 32), f"mount_setattr {path}")


class Places:
    """Folders that stay visible though what is around them is hidden, by descriptors opened before."""

    def __init__(self, paths: list[str]) -> None:
        self._kept = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in paths}

    def show_again_below(self, hidden: str) -> None:
        for path, descriptor in self._kept.items():
            if Path(path).is_relative_to(hidden):
                Path(path).mkdir(parents=True, exist_ok=True)
                mount(f"/proc/self/fd/{descriptor}", path, flags=MS_BIND | MS_REC)

    def show_again(self, path: str) -> None:
        mount(f"/proc/self/fd/{self._kept[path]}", path, flags=MS_BIND | MS_REC)


def loopback_alone(_: Any, __: Places) -> None:
    """The namespace is there already; its loopback is down."""
    with socket.socket() as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, 0x8913, request))[1]
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


def private_tmp(_: Any, places: Places) -> None:
    for path in ("/tmp", "/var/tmp"):
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
        places.show_again_below(path)


def homes_hidden(_: Any, places: Places) -> None:
    for path in HOMES:
        if Path(path).is_dir():
            mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
            places.show_again_below(path)


def few_devices(_: Any, __: Places) -> None:
    kept = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755")
    for name, descriptor in kept.items():
        Path("/dev", name).touch()
        mount(f"/proc/self/fd/{descriptor}", f"/dev/{name}", flags=MS_BIND)
    Path("/dev/shm").mkdir()
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")


def read_only_root(writable: list[str], places: Places) -> None:
    for path in writable:
        places.show_again(path)
    set_read_only("/", is_read_only=True, is_recursive=True)
    for path in (*writable, "/tmp", "/var/tmp", "/dev/shm"):
        if os.path.ismount(path):
            set_read_only(path, is_read_only=False, is_recursive=False)


def own_processes_alone(options: str, _: Places) -> None:
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options)


def no_capabilities(_: Any, __: Places) -> None:
    for number in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1 if has_sys() else 41):
        check(libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), f"capability {number}")
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, data = struct.pack("Ii", 0x20080522, 0), bytes(24)
    check(libc.capset(header, data), "capset")


def has_sys() -> bool:
    return Path("/proc/sys/kernel/cap_last_cap").exists()


def no_new_privileges(_: Any, __: Places) -> None:
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def no_executable_writes(_: Any, __: Places) -> None:
    check(libc.prctl(PR_SET_MDWE, 1, 0, 0, 0), "prctl PR_SET_MDWE (Linux 6.3)")


class Comparison(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


NOT_EQUAL, EQUAL, MASKED = 1, 4, 7


class Filter:
    def __init__(self, default: int) -> None:
        name = ctypes.util.find_library("seccomp") or "libseccomp.so.2"
        try:
            self._lib = ctypes.CDLL(name)
        except OSError as error:
            raise LeftOutError("libseccomp is not installed") from error
        self._lib.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._lib.seccomp_init(ctypes.c_uint32(default)))

    def rule(self, action: int, call: str, *comparisons: Comparison) -> None:
        """Calls that this architecture does not have are passed over, as the service manager does."""
        number = self._lib.seccomp_syscall_resolve_name(call.encode())
        if number >= 0:
            array = (Comparison * max(len(comparisons), 1))(*comparisons)
            if self._lib.seccomp_rule_add_array(
                self._context, ctypes.c_uint32(action), number, len(comparisons), array
            ):
                raise LeftOutError(f"seccomp refuses a rule for {call}")

    def load(self) -> None:
        if self._lib.seccomp_load(self._context):
            raise LeftOutError("the kernel refuses the filter")


def calls_allowed(names: list[str], _: Places) -> None:
    """`names` are system calls; everything else fails with EPERM."""
    if not names:
        raise LeftOutError("systemd-analyze is not there to say which calls its groups hold")
    filter = Filter(ERRNO | EPERM)
    for name in names:
        filter.rule(ALLOW, name)
    filter.load()


def families_allowed(families: list[int], _: Places) -> None:
    filter = Filter(ALLOW)
    for family in range(46):
        if family not in families:
            filter.rule(ERRNO | EAFNOSUPPORT, "socket", Comparison(0, EQUAL, family, 0))
    filter.load()


def no_namespaces(_: Any, __: Places) -> None:
    filter = Filter(ALLOW)
    filter.rule(ERRNO | ENOSYS, "clone3")  # its flags are behind a pointer; programs fall back to clone
    filter.rule(ERRNO | EPERM, "setns")
    for call in ("unshare", "clone"):
        for bit in range(32):
            if CLONE_NEW & 1 << bit:
                filter.rule(ERRNO | EPERM, call, Comparison(0, MASKED, 1 << bit, 1 << bit))
    filter.load()


def no_set_id_files(_: Any, __: Places) -> None:
    filter = Filter(ALLOW)
    for call, at in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("creat", 1), ("mkdir", 1), ("mkdirat", 2)):
        for bit in (stat.S_ISUID, stat.S_ISGID):
            filter.rule(ERRNO | EPERM, call, Comparison(at, MASKED, bit, bit))
    filter.load()


def personality_locked(_: Any, __: Places) -> None:
    filter = Filter(ALLOW)
    filter.rule(ERRNO | EPERM, "personality", Comparison(0, NOT_EQUAL, 0xFFFFFFFF, 0))
    filter.load()


def umask(mask: int, _: Places) -> None:
    os.umask(mask)


def core_limit(size: int, _: Places) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (size, size))


LAYERS: dict[str, Callable[[Any, Places], None]] = {
    "loopback": loopback_alone,
    "PrivateTmp": private_tmp,
    "ProtectHome": homes_hidden,
    "PrivateDevices": few_devices,
    "ProtectSystem": read_only_root,
    "ProtectProc": own_processes_alone,
    "UMask": umask,
    "LimitCORE": core_limit,
    "CapabilityBoundingSet": no_capabilities,
    "NoNewPrivileges": no_new_privileges,
    "MemoryDenyWriteExecute": no_executable_writes,
    "LockPersonality": personality_locked,
    "RestrictSUIDSGID": no_set_id_files,
    "RestrictNamespaces": no_namespaces,
    "RestrictAddressFamilies": families_allowed,
    "SystemCallFilter": calls_allowed,
}
"""In the order in which they are applied: what needs a privilege or a place comes before what takes it away."""
IN_NAMESPACES = ("loopback", "PrivateTmp", "ProtectHome", "PrivateDevices", "ProtectSystem", "ProtectProc")
"""Outside of namespaces of its own these would change the machine."""


def main(file: str, *command: str) -> None:
    wanted = json.loads(Path(file).read_text())
    places = Places(wanted["kept"])
    if wanted["has_namespaces"]:
        libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    said: dict[str, str] = {}
    for name, layer in LAYERS.items():
        if name in wanted["layers"]:
            try:
                if name in IN_NAMESPACES and not wanted["has_namespaces"]:
                    raise LeftOutError("no namespaces here")
                layer(wanted["layers"][name], places)
                said[name] = "applied"
            except (LeftOutError, OSError) as error:
                said[name] = f"left out: {error}"
    Path(wanted["report"]).write_text(json.dumps(said))
    os.chdir("/")
    program = shutil.which(command[0]) or command[0]
    os.execv(program, [program, *command[1:]])


if __name__ == "__main__":
    main(*sys.argv[1:])
