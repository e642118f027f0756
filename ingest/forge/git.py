"""The only place that starts git: a clean environment, bounded waiting and output, and nobody left behind.

Nothing of a repository is ever run. There is no work tree and no checkout, so no filter; hooks, fsmonitor, credential
helpers, pagers and prompts are off; configuration comes from `gitconfig.txt` alone; `ext::` and its like are not
allowed; blobs are missing rather than fetched lazily. Addresses stand behind `--`. Each process leads its own group,
which is killed as a whole (git-remote-https and ssh live in it) when time is up or the caller gives up.

A login travels over a pipe: a one-line credential helper of ours reads it from a descriptor when the server at the
expected origin asks for it. So it is in no argument, environment, configuration or file, git never sends it elsewhere
after a redirect, and a server that wants none does not see it.
"""

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from math import ceil
from pathlib import Path
from typing import Final

from ingest.forge.faults import Fault, GitError, Login, LoginError
from ingest.forge.running import READ_BYTES, Order, Output, Patience, Running

_CONFIG: Final = Path(__file__).with_name("gitconfig.txt")
_KEPT_VARIABLES: Final = (
    "PATH", "TMPDIR", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
)  # fmt: skip
_MIN_VERSION: Final = (2, 32)  # the first that can be told which configuration to read

_LOGIN_HELPER: Final = (
    '!f() { test "$1" = get || return 0; p=; h=; '
    'while IFS= read -r l && test -n "$l"; do case "$l" in protocol=*) p=${l#*=};; host=*) h=${l#*=};; esac; done; '
    'test "$p://$h" = "$SOURCES_GIT_ORIGIN" || return 0; cat "/dev/fd/$SOURCES_GIT_LOGIN_FD"; }; f'
)


class Git:
    """Starts git. `environment` is where the few variables that are passed on come from."""

    def __init__(self, binary: str = "git", environment: Mapping[str, str] | None = None) -> None:
        self._binary = binary
        self._environment = _clean(os.environ if environment is None else environment)

    async def version(self) -> tuple[int, ...]:
        """For `sources check`; raises when git is missing or too old to be told which configuration to read."""
        output = await self.run(["--version"], about="git", patience=Patience(10, 10))
        found = tuple(int(number) for number in re.findall(rb"\d+", output.stdout)[:3])
        if found < _MIN_VERSION:
            wanted = ".".join(map(str, _MIN_VERSION))
            raise GitError("git", Fault.NO_GIT, f"version {found} is too old", f"install {wanted} or newer")
        return found

    async def run(
        self,
        arguments: Sequence[str | bytes],
        *,
        about: str,
        patience: Patience,
        clone: Path | None = None,
        login: Login | None = None,
        hold: Sequence[int] = (),
        fine: tuple[int, ...] = (0,),
        max_bytes: int = 1 << 20,
        trace_packets: bool = False,
    ) -> Output:
        """One call with its whole output, which is refused when it is larger than `max_bytes`."""
        async with self.open(
            arguments, about=about, patience=patience, clone=clone, login=login, hold=hold, trace_packets=trace_packets
        ) as running:
            said = bytearray()
            while data := await running.read():
                said += data
                if len(said) > max_bytes:
                    raise GitError(
                        about, Fault.TOO_MUCH, f"git answered more than {max_bytes} bytes", "look at it by hand"
                    )
            output = await running.finish(fine=fine)
        return Output(bytes(said), output.stderr, output.status)

    @asynccontextmanager
    async def open(
        self,
        arguments: Sequence[str | bytes],
        *,
        about: str,
        patience: Patience,
        clone: Path | None = None,
        login: Login | None = None,
        hold: Sequence[int] = (),
        takes_input: bool = False,
        trace_packets: bool = False,
    ) -> AsyncIterator[Running]:
        """One call to read from as it works. `about` names the source in errors; `hold` are descriptors that stay
        open until the last process of the group is gone (a lock on the clone)."""
        environment = dict(self._environment)
        # Without a repository of its own, git would look for one around the current folder and obey its configuration.
        environment["GIT_DIR"] = os.devnull if clone is None else str(clone)
        if trace_packets:
            environment["GIT_TRACE_PACKET"] = "1"
        environment |= {"GIT_HTTP_LOW_SPEED_LIMIT": "1", "GIT_HTTP_LOW_SPEED_TIME": str(max(1, ceil(patience.idle_s)))}
        loop = asyncio.get_running_loop()
        secret = _whisper(login, about, environment) if login else None
        try:
            transport, protocol = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(limit=READ_BYTES, loop=loop),
                self._binary,
                *arguments,
                stdin=PIPE if takes_input else DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                cwd="/",
                env=environment,
                start_new_session=True,
                pass_fds=(*hold, *(() if secret is None else (secret,))),
            )
        except (FileNotFoundError, PermissionError) as error:
            raise GitError(about, Fault.NO_GIT, f"{self._binary} cannot be started", "install git") from error
        except OSError as error:
            raise GitError(
                about, Fault.OTHER, f"git cannot be started: {error.strerror}", "see what the host lacks"
            ) from error
        except ValueError as error:
            raise GitError(about, Fault.OTHER, "a NUL byte in an argument of git", "take it out") from error
        finally:
            if secret is not None:
                os.close(secret)
        running = Running(Process(transport, protocol, loop), Order(about, patience, login))
        try:
            yield running
        finally:
            await running.end()
            transport.close()
            await asyncio.sleep(0)  # lets the pipes close, too


def _clean(given: Mapping[str, str]) -> dict[str, str]:
    """What every git process sees of the world, and nothing else."""
    return {name: given[name] for name in _KEPT_VARIABLES if name in given} | {
        "LC_ALL": "C",
        # Not unset: then libcurl would look up the home folder and read .netrc there.
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": str(_CONFIG),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=15 -oServerAliveInterval=15 -oServerAliveCountMax=4",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PAGER": "cat",
    }


def _whisper(login: Login, about: str, environment: dict[str, str]) -> int:
    """Put the login into a pipe for the helper; returns the end to read from."""
    told = f"username={login.username}\npassword={login.password}\n"
    if told.count("\n") != 2 or "\0" in told or len(told) > 4096 or not login.origin:
        raise LoginError(about, Fault.LOGIN, "its credential cannot be used", "one line of at most 4000 characters")
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(told.encode())
    environment |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "credential.helper",
        "GIT_CONFIG_VALUE_0": _LOGIN_HELPER,
        "SOURCES_GIT_ORIGIN": login.origin,
        "SOURCES_GIT_LOGIN_FD": str(reading),
    }
    return reading
