"""What remotes, disks and kills do to a repository: one clear line, the cursor stays, nobody is left running."""

import asyncio
import fcntl
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from index.errors import CredentialError, ForgeError
from ingest.forge.clone import clone_name, forget_others
from ingest.forge.faults import Fault, GitError, explain
from ingest.forge.git import Git
from ingest.forge.repository import Changes, Outcome, RepoSettings, Repository, Unchanged
from ingest.forge.running import Patience
from tests.forge.git_repos import Origin, git
from tests.forge.http_git import GitServer

FILES = {b"README.md": b"# Read me\n", b"docs/a.md": b"one\n" * 100, b"noise": os.urandom(60_000)}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    (tmp_path / "served").mkdir()
    with GitServer(tmp_path / "served") as running:
        yield running


@pytest.fixture
def origin(server: GitServer) -> Origin:
    made = Origin.at(server.root / "wiki")
    made.commit(FILES)
    return made


def over_http(
    server: GitServer, tmp_path: Path, *, timeout_s: float = 20.0, login: tuple[str, str] | None = None
) -> Repository:
    given = RepoSettings("wiki", server.url("wiki"), timeout_s=timeout_s)
    return Repository(given, tmp_path / "clones", Git(), (lambda: login) if login else None)


async def changed(source: Repository, cursor: str | None = None) -> Changes:
    changes = await source.changes(cursor)
    assert isinstance(changes, Changes)
    return changes


async def read(source: Repository, changes: Changes) -> dict[str, bytes]:
    return {entry.path: content async for entry, content in source.read(changes.put)}


def living(groups: set[int]) -> list[Path]:
    """Processes of these groups that still run; one that waits for its parent to notice its end does not."""
    found = []
    for stat_file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group = stat_file.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(group) in groups and state not in "ZX":
            found.append(stat_file)
    return found


async def gone(groups: set[int]) -> None:
    for _ in range(1000):
        if not living(groups):
            break
        await asyncio.sleep(0.01)
    assert living(groups) == []


def leftovers(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "clones").iterdir() if not path.name.endswith((".git", ".lock")))


async def test_over_http_only_a_change_makes_a_fetch(tmp_path: Path, server: GitServer, origin: Origin) -> None:
    source = over_http(server, tmp_path)
    first = await changed(source)
    assert await read(source, first) == {name.decode(): content for name, content in FILES.items()}
    server.requests.clear()
    assert isinstance(await source.changes(first.position), Unchanged)
    assert len(server.requests) == 2  # what ls-remote takes: capabilities, refs
    origin.commit(FILES | {b"new.md": b"new"})
    second = await changed(source, first.position)
    assert await read(source, second) == {"new.md": b"new"}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("404", "no git repository there"),
        ("500", "cannot be reached"),
        ("401", "asks for a login: private, or not there"),
        ("403", "refused the login"),
        ("page", "answers, but not as a git repository|no git repository there"),
        ("cut", "cannot be reached"),
    ],
)
async def test_a_fault_is_one_line_with_source_problem_and_remedy(
    tmp_path: Path, server: GitServer, origin: Origin, fault: str, said: str
) -> None:
    source = over_http(server, tmp_path)
    first = await changed(source)
    origin.commit({b"other.md": b"other"})
    server.fault = fault
    probe = await source.probe(first.position)
    assert (probe.outcome, probe.head) == (Outcome.UNKNOWN, None)
    with pytest.raises(ForgeError, match=rf"^repo wiki \(http://127\.0\.0\.1:\d+/wiki\): .*({said}).* \(.+\)$"):
        await source.changes(first.position)
    server.fault = ""
    assert (await changed(source, first.position)).removed != ()


async def test_a_web_page_is_no_empty_repository_and_an_empty_one_over_http_is_no_fault(
    tmp_path: Path, server: GitServer
) -> None:
    Origin.at(server.root / "wiki")
    source = over_http(server, tmp_path)
    assert (await source.probe()).outcome is Outcome.EMPTY
    server.fault = "page"
    probe = await source.probe()
    assert (probe.outcome, "not as a git repository" in str(probe.error)) == (Outcome.UNKNOWN, True)


@pytest.mark.parametrize("fault", ["404", "500", "cut", "page"])
async def test_a_fault_in_the_middle_of_a_fetch_leaves_the_old_clone(
    tmp_path: Path, server: GitServer, origin: Origin, fault: str
) -> None:
    source = over_http(server, tmp_path)
    first = await changed(source)
    origin.commit({b"other.md": b"other", b"noise": os.urandom(60_000)})
    server.fault, server.only_for = fault, "git-upload-pack"
    with pytest.raises(ForgeError):
        await source.freshen()
    assert leftovers(tmp_path) == []
    assert await read(source, first) == {name.decode(): content for name, content in FILES.items()}
    server.fault = ""
    assert (await changed(source, first.position)).commit == origin.head()


async def test_a_hanging_remote_is_given_up_and_its_processes_are_gone(
    tmp_path: Path, server: GitServer, origin: Origin
) -> None:
    server.fault = "hang"
    wrapper = tmp_path / "git"
    wrapper.write_text(f'#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec git "$@"\n')
    wrapper.chmod(0o755)
    source = Repository(RepoSettings("wiki", server.url("wiki"), timeout_s=1.0), tmp_path / "clones", Git(str(wrapper)))
    with pytest.raises(ForgeError, match=r"no answer within 1 s"):
        await source.changes(None)
    groups = {int(line) for line in (tmp_path / "pids").read_text().split()}
    assert groups
    await gone(groups)


async def test_what_git_itself_started_is_ended_with_it(tmp_path: Path) -> None:
    stubborn = tmp_path / "git"
    stubborn.write_text(f"#!/bin/sh\nsleep 300 &\necho $$ > {tmp_path}/group\nwait\n")
    stubborn.chmod(0o755)
    with pytest.raises(GitError, match="no answer within 1 s"):
        await Git(str(stubborn)).run(["x"], about="repo x", patience=Patience(1, 1))
    await gone({int((tmp_path / "group").read_text())})


async def test_a_plain_file_server_will_do(tmp_path: Path, server: GitServer, origin: Origin) -> None:
    git(origin.path, "update-server-info")
    server.fault = "plain"
    source = over_http(server, tmp_path)
    first = await changed(source)
    assert (await read(source, first))["README.md"] == FILES[b"README.md"]
    origin.commit(FILES | {b"new.md": b"new"})
    git(origin.path, "update-server-info")
    assert [entry.path for entry in (await changed(source, first.position)).put] == ["new.md"]


async def test_a_caller_that_gives_up_leaves_no_process(tmp_path: Path, server: GitServer, origin: Origin) -> None:
    server.fault = "hang"
    task = asyncio.create_task(over_http(server, tmp_path).changes(None))
    assert await asyncio.to_thread(server.asked.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_moved_repository_is_followed(tmp_path: Path, server: GitServer, origin: Origin) -> None:
    (tmp_path / "elsewhere").mkdir()
    with GitServer(server.root) as elsewhere:
        server.fault, server.redirect_to = "redirect", elsewhere.origin
        assert (await changed(over_http(server, tmp_path))).commit == origin.head()


async def test_a_login_is_used_when_asked_for_and_seen_nowhere(
    tmp_path: Path, server: GitServer, origin: Origin
) -> None:
    secret = "s3" + os.urandom(8).hex()
    server.login = ("bot", secret)
    wrapper = tmp_path / "git"
    wrapper.write_text(f'#!/bin/sh\n{{ echo "$@"; env; }} >> {tmp_path}/seen\nexec git "$@"\n')
    wrapper.chmod(0o755)
    given = RepoSettings("wiki", server.url("wiki"), timeout_s=20.0)
    source = Repository(given, tmp_path / "clones", Git(str(wrapper)), lambda: ("bot", secret))
    assert (await changed(source)).commit == origin.head()
    assert server.logins_seen
    assert secret not in (tmp_path / "seen").read_text()
    for path in (tmp_path / "clones").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()


async def test_a_login_is_not_sent_to_one_who_does_not_ask_or_stands_elsewhere(
    tmp_path: Path, server: GitServer, origin: Origin
) -> None:
    source = over_http(server, tmp_path, login=("bot", "not-asked-for"))
    assert (await changed(source)).commit == origin.head()
    assert server.logins_seen == []
    with GitServer(server.root, login=("bot", "not-asked-for")) as elsewhere:
        server.fault, server.redirect_to = "redirect", elsewhere.origin
        probe = await source.probe()
        assert (probe.outcome, elsewhere.logins_seen) == (Outcome.UNKNOWN, [])


async def test_a_refused_login_is_a_credential_error_without_the_credential(
    tmp_path: Path, server: GitServer, origin: Origin
) -> None:
    server.login = ("bot", "right")
    with pytest.raises(CredentialError, match=r"refused the login") as caught:
        await over_http(server, tmp_path, login=("bot", "wrong-one")).changes(None)
    assert "wrong-one" not in str(caught.value)
    with pytest.raises(CredentialError, match=r"cannot be used"):
        await over_http(server, tmp_path, login=("bot", "two\nlines")).changes(None)


@pytest.mark.parametrize(
    "url", ["https://me:{0}@example.org/x", "https://{0}@example.org/x", "ssh://me:{0}@example.org/x"]
)
async def test_an_address_with_a_credential_is_refused_and_not_shown(tmp_path: Path, url: str) -> None:
    secret = "s3" + os.urandom(8).hex()
    source = Repository(RepoSettings("wiki", url.format(secret), timeout_s=5), tmp_path, Git("no-such-program"))
    with pytest.raises(ForgeError, match=r"its url holds a credential") as caught:
        await source.changes(None)
    assert secret not in str(caught.value)
    assert secret not in source.about


async def test_a_login_does_not_travel_unencrypted(tmp_path: Path) -> None:
    source = Repository(
        RepoSettings("wiki", "http://example.org/x", timeout_s=5), tmp_path, Git("no-such-program"), lambda: ("me", "x")
    )
    with pytest.raises(ForgeError, match="unencrypted"):
        await source.changes(None)


@pytest.mark.parametrize("url", ["ext::sh -c touch% {0}", "--upload-pack=touch {0}", "-u touch {0}", "fd::17"])
async def test_an_address_never_runs_a_command(tmp_path: Path, url: str) -> None:
    marker = tmp_path / "marker"
    source = Repository(RepoSettings("wiki", url.format(marker), timeout_s=10), tmp_path / "clones", Git())
    with pytest.raises(ForgeError):
        await source.changes(None)
    assert not marker.exists()


async def test_nothing_of_a_repository_is_run(tmp_path: Path) -> None:
    """Hooks, fsmonitor, textconv, filters, an upload-pack hook, a lazy remote and helpers, all set to leave a mark."""
    marker = tmp_path / "marker"
    script = tmp_path / "mark.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    script.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    (work / "a.md").write_text("text to find")
    (work / ".gitattributes").write_text("*.md diff=mark filter=mark\n")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "a")
    for sample in list((work / ".git" / "hooks").iterdir()):
        sample.with_suffix("").symlink_to(script)
    keys = "core.fsmonitor core.sshCommand core.askPass core.alternateRefsCommand core.pager diff.external gpg.program"
    keys += " diff.mark.textconv filter.mark.smudge filter.mark.process uploadpack.packObjectsHook credential.helper"
    for key in keys.split():
        git(work, "config", key, str(script))
    git(work, "config", "remote.origin.url", f"ext::{script}")
    git(work, "config", "remote.origin.promisor", "true")
    git(work, "config", "protocol.ext.allow", "always")
    source = Repository(RepoSettings("work", str(work), timeout_s=10), tmp_path / "clones", Git())
    changes = await changed(source)
    assert (await read(source, changes))["a.md"] == b"text to find"
    assert [line.path for line in (await source.grep("to find")).lines] == ["a.md"]
    assert await source.show("a.md") == b"text to find"
    assert not marker.exists()


async def test_the_surroundings_do_not_reach_git(tmp_path: Path, server: GitServer, origin: Origin) -> None:
    given = dict(os.environ) | {
        "GIT_DIR": "/nowhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "url.https://elsewhere.invalid/.insteadOf",
        "GIT_CONFIG_VALUE_0": "http://",
        "GIT_TRACE": str(tmp_path / "trace"),
        "LC_ALL": "cs_CZ.UTF-8",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    server.login = ("me", "from-netrc")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password from-netrc\n")
    (tmp_path / ".gitconfig").write_text("[credential]\nhelper = store\n")
    (tmp_path / ".git-credentials").write_text(f"{server.origin.replace('//', '//me:from-netrc@')}\n")
    source = Repository(RepoSettings("wiki", server.url("wiki"), timeout_s=20), tmp_path / "clones", Git("git", given))
    assert (await source.probe()).outcome is Outcome.UNKNOWN
    assert server.logins_seen == []
    server.login = None
    assert (await changed(source)).commit == origin.head()
    assert not (tmp_path / "trace").exists()


async def test_a_repository_of_another_owner_is_readable(tmp_path: Path) -> None:
    origin = Origin.at(tmp_path / "origin")
    origin.commit(FILES)
    wrapper = tmp_path / "git"
    # Git's own way to claim another owner; needs no second account.
    wrapper.write_text('#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec git "$@"\n')
    wrapper.chmod(0o755)
    source = Repository(RepoSettings("x", str(origin.path), timeout_s=20), tmp_path / "clones", Git(str(wrapper)))
    assert (await changed(source)).commit == origin.head()


def clone_of(tmp_path: Path) -> Path:
    (clone,) = (tmp_path / "clones").glob("*.git")
    return clone


async def test_a_damaged_clone_is_made_afresh(tmp_path: Path, server: GitServer, origin: Origin) -> None:
    source = over_http(server, tmp_path)
    first = await changed(source)
    for damage in ("empty HEAD", "no pack", "cut pack", "lock", "garbage config"):
        clone = clone_of(tmp_path)
        for pack in clone.glob("objects/pack/*.pack"):
            pack.chmod(stat.S_IRUSR | stat.S_IWUSR)
            if damage == "no pack":
                pack.unlink()
            elif damage == "cut pack":
                os.truncate(pack, pack.stat().st_size // 2)
        if damage == "empty HEAD":
            (clone / "HEAD").write_bytes(b"")
        elif damage == "lock":
            (clone / "shallow.lock").write_bytes(b"")
            (clone / "refs" / "sources" / "head.lock").write_bytes(b"")
        elif damage == "garbage config":
            (clone / "config").write_bytes(b"[core\n\0")
        origin.commit(FILES | {b"damage.md": damage.encode()})
        second = await changed(source, first.position)
        assert (await read(source, second))["damage.md"] == damage.encode(), damage
        first = second


async def test_a_clone_damaged_while_it_is_read_is_made_afresh_and_reading_goes_on(
    tmp_path: Path, server: GitServer, origin: Origin
) -> None:
    source = over_http(server, tmp_path)
    first = await changed(source)
    for pack in clone_of(tmp_path).glob("objects/pack/*"):
        pack.unlink()
    assert await read(source, first) == {name.decode(): content for name, content in FILES.items()}


async def test_a_source_that_is_damaged_itself_is_one_line(tmp_path: Path) -> None:
    origin = Origin.at(tmp_path / "origin")
    origin.commit(FILES)
    for path in (origin.path / "objects").rglob("*"):
        if path.is_file() and path.suffix in ("", ".pack"):
            path.chmod(0o600)
            os.truncate(path, 20)
    with pytest.raises(ForgeError, match=r"^repo x .*\(.+\)$"):
        await Repository(RepoSettings("x", str(origin.path), timeout_s=10), tmp_path / "clones", Git()).changes(None)
    assert leftovers(tmp_path) == []


async def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, server: GitServer, origin: Origin) -> None:
    source = over_http(server, tmp_path)
    first = await changed(source)
    origin.commit({b"noise": os.urandom(200_000)})
    tight = tmp_path / "git"  # files of at most 32 kB; the signal ignored, writing fails as on a full disk
    tight.write_text('#!/bin/bash\ntrap "" XFSZ\nulimit -f 32\nexec git "$@"\n')
    tight.chmod(0o755)
    given = RepoSettings("wiki", server.url("wiki"), timeout_s=20.0)
    with pytest.raises(GitError) as caught:
        await Repository(given, tmp_path / "clones", Git(str(tight))).changes(first.position)
    assert caught.value.fault is Fault.DISK
    assert leftovers(tmp_path) == []
    assert (await changed(source, first.position)).commit == origin.head()


async def test_a_state_folder_that_cannot_be_made_is_one_line(tmp_path: Path, origin: Origin) -> None:
    (tmp_path / "file").write_text("")
    source = Repository(RepoSettings("wiki", str(origin.path), timeout_s=10), tmp_path / "file" / "clones", Git())
    with pytest.raises(ForgeError, match=r"private clone cannot be written: ENOTDIR"):
        await source.changes(None)


async def test_a_missing_git_is_one_line(tmp_path: Path) -> None:
    source = Repository(RepoSettings("wiki", "https://example.org/x", timeout_s=10), tmp_path, Git("no-such-program"))
    with pytest.raises(ForgeError, match=r"no-such-program cannot be started \(install git\)"):
        await source.changes(None)
    assert (await Git().version())[0] >= 2


async def test_two_runs_do_not_fetch_into_one_clone_at_once(tmp_path: Path, origin: Origin) -> None:
    source = Repository(RepoSettings("wiki", str(origin.path), timeout_s=0.5), tmp_path / "clones", Git())
    (tmp_path / "clones").mkdir()
    with (tmp_path / "clones" / (clone_name("wiki", str(origin.path)) + ".lock")).open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ForgeError, match="another process is fetching it"):
            await source.changes(None)
    assert (await changed(source)).commit == origin.head()


KILLED_RUN = """
import asyncio, sys
from pathlib import Path
from ingest.forge.git import Git
from ingest.forge.repository import Repository, RepoSettings
source = Repository(RepoSettings("wiki", sys.argv[1], timeout_s=2), Path(sys.argv[2]), Git(sys.argv[3]))
asyncio.run(source.changes(None))
"""


def test_a_run_killed_in_the_middle_of_a_clone_stands_in_nobodys_way(
    tmp_path: Path, server: GitServer, origin: Origin
) -> None:
    server.fault, server.only_for = "hang", "git-upload-pack"  # also what ls-remote asks; both are middles
    command = [sys.executable, "-c", KILLED_RUN, server.url("wiki"), str(tmp_path / "clones"), "git"]
    for _ in range(2):
        run = subprocess.Popen(command, cwd=Path(__file__).parents[2])
        seen = len(server.requests)
        while len(server.requests) < seen + 1:
            run.poll()
            assert run.returncode is None
        run.send_signal(signal.SIGKILL)
        run.wait()
    clone = tmp_path / "clones" / clone_name("wiki", server.url("wiki"))
    (clone.with_name(clone.name + ".new") / "objects").mkdir(parents=True)
    server.released.set()
    server.fault = ""
    changes = asyncio.run(changed(over_http(server, tmp_path)))
    assert changes.commit == origin.head()
    assert leftovers(tmp_path) == []


def test_a_git_that_outlives_a_killed_run_keeps_the_clone_to_itself(tmp_path: Path, origin: Origin) -> None:
    slow = tmp_path / "slow"
    slow.write_text(
        f'#!/bin/sh\ncase " $* " in *" fetch "*) echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; '
        'exec sleep 60;; esac\nexec git "$@"\n'
    )
    slow.chmod(0o755)
    command = [sys.executable, "-c", KILLED_RUN.replace("timeout_s=2", "timeout_s=60"), str(origin.path)]
    with subprocess.Popen([*command, str(tmp_path / "clones"), str(slow)], cwd=Path(__file__).parents[2]) as run:
        while not (tmp_path / "pid").exists():
            assert run.poll() is None
            time.sleep(0.01)
        run.kill()
    source = Repository(RepoSettings("wiki", str(origin.path), timeout_s=0.5), tmp_path / "clones", Git())
    with pytest.raises(ForgeError, match="another process is fetching it"):
        asyncio.run(changed(source))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    patient = Repository(RepoSettings("wiki", str(origin.path), timeout_s=20), tmp_path / "clones", Git())
    assert asyncio.run(changed(patient)).commit == origin.head()


async def test_many_fetches_are_joined_and_unwanted_clones_go(tmp_path: Path, origin: Origin) -> None:
    source = Repository(RepoSettings("wiki", str(origin.path), timeout_s=20), tmp_path / "clones", Git())
    changes = await changed(source)
    packs = clone_of(tmp_path) / "objects" / "pack"
    (some,) = packs.glob("*.pack")
    for number in range(45):
        os.link(some, packs / f"pack-{number:040x}.pack")
        os.link(some.with_suffix(".idx"), packs / f"pack-{number:040x}.idx")
    origin.commit(FILES | {b"new.md": b"new"})
    changes = await changed(source, changes.position)
    assert [entry.path for entry in changes.put] == ["new.md"]
    assert len(list(packs.glob("*.pack"))) < 5
    name = clone_name("wiki", str(origin.path))
    assert forget_others(tmp_path / "clones", {name}) == []
    assert forget_others(tmp_path / "clones", set()) == [name]
    assert list((tmp_path / "clones").iterdir()) == []


async def test_output_without_end_is_refused(tmp_path: Path) -> None:
    endless = tmp_path / "git"
    endless.write_text("#!/bin/sh\nexec yes\n")
    endless.chmod(0o755)
    with pytest.raises(GitError, match="more than"):
        await Git(str(endless)).run(["x"], about="repo x", patience=Patience(20, 20))


@pytest.mark.parametrize(
    "said",
    [
        "server certificate verification failed. CAfile: none CRLfile: none",
        "SSL certificate problem: self-signed certificate",
        "SSL: no alternative certificate subject name matches target host name 'git.example.org'",
    ],
)
def test_a_certificate_that_is_not_accepted_is_no_matter_of_waiting(said: str) -> None:
    error = explain("repo x", 128, f"fatal: unable to access 'https://git.example.org/x.git/': {said}")
    assert error.fault is Fault.NETWORK
    assert "certificate is not accepted" in str(error) and str(error).endswith("trusted by this machine)")


def test_what_git_says_is_shown_on_one_line_without_secrets_or_controls() -> None:
    secret = "s3" + os.urandom(8).hex()
    address = f"https://me:{secret}@example.org/x?token={secret}"
    said = f"remote: \x1b[31mhello\nfatal: unable to access '{address}': \x1b]0;boo\x07 no\n"
    error = explain("repo x", 128, said)
    assert secret not in str(error)
    assert str(error).isprintable()
    assert "example.org" in str(error)
