"""`max_file` of a folder of notes is what decides, above what a file may have without it as well."""

from pathlib import Path

import pytest

from index.store.store import open_store
from ingest.writing import Writer
from sources.app import workers
from sources.config.load import parse
from sources.credentials import Credentials
from tests.chat.host import fingerprint
from tests.keys import as_written


@pytest.mark.parametrize(("limit", "documents"), [("5 MiB", 1), ("4 MiB", 0)])
async def test_a_note_is_read_up_to_the_configured_size(tmp_path: Path, limit: str, documents: int) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "log.txt").write_text("a" + " " * 4_300_000 + "b")
    text = f'state_dir = "{tmp_path}"\n[[notes]]\nname = "n"\nroot = "{notes}"\npaths = ["."]\n'
    config = parse(f'{text}include = ["**/*.txt"]\nmax_file = "{limit}"\n', name="sources.toml", base=tmp_path)
    (worker,) = workers(config, Credentials(None))
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as store:
        (report,) = await worker.refresh(Writer(store, fingerprint(), as_written), is_full=False)
    assert (report.documents, report.fault) == (documents, None)
    assert report.skipped == ({} if documents else {"over 4194304 bytes": 1})
