"""On a (pseudo) terminal: bars while there is something to wait for, a table at the end, colours unless unwanted."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Community

ROOT = Path(__file__).parents[2]
RUN = (
    "import sys\nfrom sources.cli.main import run\n"
    "code = run(sys.argv[1:])\nprint('LOADED', 'rich.progress' in sys.modules)\nsys.exit(code)"
)


def on_terminal(community: Community, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code, and everything that was written to a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=ROOT,
        env={**os.environ, "SOURCES_CONFIG": str(community.config_file), "TERM": "xterm", **environment},
    )
    os.close(follower)
    told = b""
    while True:
        try:
            more = os.read(leader, 65536)
        except OSError:  # the last writer has gone
            break
        if not more:
            break
        told += more
    os.close(leader)
    return process.wait(timeout=60), told.decode()


def test_a_refresh_ends_with_a_table_and_one_with_nothing_to_do_with_nothing(packed: Community) -> None:
    text = packed.config_file.read_text().replace('"off"', '"hashing"')
    packed.config_file.write_text(text)
    code, told = on_terminal(packed, "refresh")
    assert code == 0, told
    assert "vectors" in told
    assert "repo:handbook" in told
    code, told = on_terminal(packed, "refresh", "--quiet")
    assert (code, told.strip()) == (0, "LOADED False")


def test_found_words_are_coloured_unless_the_reader_minds(indexed: Community) -> None:
    assert "\x1b[1;33m" in on_terminal(indexed, "search", "signing key")[1]
    assert "\x1b[" not in on_terminal(indexed, "search", "signing key", NO_COLOR="1")[1]
