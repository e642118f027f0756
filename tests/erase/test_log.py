"""What of a write-ahead log counts: it keeps its size when it begins anew, and former frames behind the new ones."""

from pathlib import Path

from index.store import pages
from index.store.driver import connector


def test_a_log_that_began_anew_counts_from_there(tmp_path: Path) -> None:
    file, log = tmp_path / "a.sqlite", tmp_path / "a.sqlite-wal"
    assert (pages.current_log_bytes(log), pages.pages_in(log)) == (0, set())
    connection = connector(file, is_writer=True)()
    try:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB)")
        connection.executemany("INSERT INTO t VALUES (?, randomblob(3000))", [(key,) for key in range(50)])
        full, before = pages.log_bytes(log), pages.pages_in(log)
        assert pages.current_log_bytes(log) == full
        assert before == set(range(1, max(before) + 1)) and len(before) > 50

        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        connection.execute("UPDATE t SET b = randomblob(3000) WHERE a = 7")
        assert pages.log_bytes(log) == full
        assert 0 < pages.current_log_bytes(log) < full / 50
        assert pages.pages_in(log) >= before - {1}, "the first frame, of the first page, is overwritten"

        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert (pages.log_bytes(log), pages.current_log_bytes(log), pages.pages_in(log)) == (0, 0, set())
    finally:
        connection.close()
