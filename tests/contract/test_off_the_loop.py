"""A search leaves the loop of a bot free: what takes long runs on other threads."""

import sys
import threading
from collections.abc import AsyncIterator
from inspect import CO_COROUTINE
from pathlib import Path
from types import FrameType

import pytest

import index
from index.engines.sqlite.engine import SqliteEngine
from index.model import Chunk, Corpus, Document, DocumentId, Kind, SourceId, chunk_id
from index.search import Mode, Searcher, SearchSettings
from index.store import documents
from index.store.store import Store, open_store
from index.text.searchable import searchable
from index.text.words import Keys

FOLDER = Path(index.__file__).parent
SOURCE = SourceId("notes:n")
LONG = {"engines/sqlite/words.py", "store/postings.py", "store/reading.py", "text/fuse.py", "text/found.py",
        "text/snippet.py"}  # fmt: skip
"""Ranking, reading back, fusing, and marking what was found."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    keys = Keys(("en",))
    async with open_store(tmp_path / "index.sqlite", is_writer=True) as opened:
        async with opened.transaction():
            key = await opened.register(SOURCE, label="n", is_public=True)
            for number in range(30):
                identity = DocumentId(f"{SOURCE} {number}.md")
                text = f"the backup of the day, and page {number} says how it was restored"
                page = Document(
                    identity, SOURCE, Corpus.NOTES, Kind.NOTE, f"Page {number}", "1",
                    (Chunk(chunk_id(identity, "0"), 0, text),), path=f"{number}.md",
                )  # fmt: skip
                await documents.put(opened.connection, key, page, searchable(page, keys.document_keys), salt="s")
        yield opened


async def test_of_a_search_the_loop_does_nothing_but_pass_it_on(store: Store) -> None:
    keys = Keys(("en",))
    searcher = Searcher(SqliteEngine(store, keys), keys, None, SearchSettings())
    here, elsewhere = set[str](), set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        code, path = frame.f_code, Path(frame.f_code.co_filename)
        is_waiting = code.co_flags & CO_COROUTINE or code.co_name.startswith("<")  # or lists what it waited for
        if event != "call" or is_waiting or not path.is_relative_to(FOLDER):
            return
        is_loop = threading.current_thread() is threading.main_thread()
        (here if is_loop else elsewhere).add(path.relative_to(FOLDER).as_posix())

    threading.setprofile(note)  # threads that are yet to begin
    await store.connection.run(lambda _: sys.setprofile(note))
    sys.setprofile(note)
    try:
        answer = await searcher.search(["how was the backup restored"], mode=Mode.LEXICAL)
    finally:
        sys.setprofile(None)
        await store.connection.run(lambda _: sys.setprofile(None))
        threading.setprofile(None)
    assert len(answer.hits) == 10
    assert elsewhere >= LONG, "this test looks at nothing"
    assert not here & LONG
