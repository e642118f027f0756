"""Deliveries that are stopped anywhere, over files and collections that come from backups: what holds all the time."""

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from qdrant_client.local.qdrant_local import QdrantLocal

from index.engines.qdrant.cluster import open_cluster
from index.engines.qdrant.delivery import deliver
from index.engines.qdrant.label import read_label
from index.engines.qdrant.settings import QdrantSettings
from index.errors import ConfigError, EngineError
from index.model import DocumentId, SourceId
from index.store import documents, forges, outgoing, vectors
from index.store.store import Store, open_store
from index.text.searchable import searchable
from tests.contract.conftest import KEYS, fingerprint
from tests.contract.test_engine import page, unit
from tests.qdrant.server import Fault, QdrantServer, serving

NAMES = tuple(SourceId(f"repo:{name}") for name in ("docs", "ops", "plans"))
Seen = set[tuple[str, str]]


@dataclass
class Copied:
    """An index file and its copy, both with backups. A delivery is one try of each request."""

    folder: Path
    server: QdrantServer
    files: list[Path] = field(default_factory=list)
    collections: list[Any] = field(default_factory=list)
    pages: int = 0

    @property
    def file(self) -> Path:
        return self.folder / "index.sqlite"

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        async with open_store(self.file, is_writer=True) as opened:
            if await opened.fingerprint() is None:
                async with opened.transaction():
                    await opened.save_fingerprint(fingerprint(2))
            yield opened

    async def put(self, source: SourceId, *texts: str, is_public: bool = True) -> None:
        """The one page of the source, which keeps its id when the source is renamed."""
        async with self.store() as store, store.transaction():
            key = await store.register(source, label=source, is_public=is_public)
            [*there] = await documents.document_ids(store.connection, source)
            self.pages += not there
            identity = there[0] if there else DocumentId(f"repo:#{self.pages} page")
            one = page("page", *texts, source=SourceId(identity.partition(" ")[0]))
            await documents.put(store.connection, key, one, searchable(one, KEYS.document_keys), salt="s")

    async def hide(self, source: SourceId, *, is_hidden: bool = True) -> None:
        async with self.store() as store, store.transaction():
            await store.hide(source, is_hidden=is_hidden)

    async def set_public(self, source: SourceId, *, is_public: bool) -> None:
        async with self.store() as store, store.transaction():
            if await store.source(source):
                await store.register(source, label=source, is_public=is_public)

    async def forget(self, source: SourceId) -> None:
        async with self.store() as store, store.transaction():
            await documents.remove(store.connection, await documents.document_ids(store.connection, source))
            await store.forget(source)

    async def rename(self, names: dict[SourceId, SourceId]) -> None:
        async with self.store() as store, store.transaction():
            keys = {source.id: source.key for source in await store.sources()}
            await forges.rename(store.connection, {keys[old]: new for old, new in names.items() if old in keys})

    async def embed(self) -> None:
        async with self.store() as store, store.transaction():
            waiting = await vectors.pending(store.connection, after=0, limit=2)
            await vectors.save(store.connection, [(part, unit(1.0, len(part.text) % 5)) for part in waiting])

    async def deliver(self, collection: str = "sources", **limits: float) -> None:
        told = QdrantSettings(self.server.url, collection, write_tries=1, **limits)  # type: ignore[arg-type]
        async with self.store() as store, open_cluster(told) as cluster:
            await deliver(store, cluster)
            assert await outgoing.waiting(store.connection) == 0

    async def deliver_until(self, place: int, fault: Fault) -> None:
        """As if the writer were killed with the request at that place, which comes to the fault."""
        asked = 0

        def next_fault(path: str) -> Fault | None:
            nonlocal asked
            asked += 1
            return None if asked <= place else fault if asked == place + 1 else Fault.BROKEN

        self.server.next_fault = next_fault  # type: ignore[method-assign]
        with suppress(EngineError, ConfigError):
            await self.deliver()
        del self.server.next_fault

    @property
    def local(self) -> QdrantLocal:
        """What keeps the points: its collections can be copied."""
        client = self.server.client._client
        assert isinstance(client, QdrantLocal)
        return client

    def back_up(self) -> None:
        self.files.append(self.folder / f"{len(self.files)}.backup")
        shutil.copy(self.file, self.files[-1])
        self.collections.append(deepcopy((self.local.collections, self.server.schemas)))

    def bring_back(self, which: int, *names: str) -> None:
        collections, schemas = deepcopy(self.collections[which])
        for name in names:
            if name in collections:
                self.local.collections[name] = collections[name]
                self.server.schemas[name] = schemas[name]
            elif self.server.client.collection_exists(name):
                self.server.client.delete_collection(name)

    def bring_back_file(self, which: int) -> None:
        shutil.copy(self.files[which], self.file)

    def records(self) -> dict[str, Any]:
        found = [one["payload"] for one in self.server.points("sources-records").values()]
        return {one["name"]: json.loads(one["record"]) for one in found}

    def seen(self) -> Seen:
        """What an audience of everything public is shown by the cluster: names and texts.

        And under no name, what is shown to whoever may see all.
        """
        told = self.records().values()
        public = {one["id"] for one in told if isinstance(one, dict) and one["is_public"] and not one["is_hidden"]}
        points = [one["payload"] for one in self.server.points("sources").values() if not one["payload"]["is_hidden"]]
        seen = {(one["source"], one["text"]) for one in points if one["source"] in public}
        return seen | {("", one["text"]) for one in points}

    async def to_see(self) -> Seen:
        """What it shall be shown."""
        async with self.store() as store:
            rows = await store.connection.execute_fetchall(
                "SELECT source.id, is_public, body FROM source JOIN chunk ON chunk_key >> 32 = source_key"
                " WHERE NOT is_hidden"
            )
        return {(name, text) for name, is_public, text in rows if is_public} | {("", text) for _, _, text in rows}

    async def check_equal(self) -> None:
        """The copy to one that is made from nothing."""
        told = self.server.points("sources"), self.server.points("sources-records")
        async with self.store() as store, store.transaction():
            await store.set_value(outgoing.WRITER, "")
        await self.deliver("fresh")
        assert told == (self.server.points("fresh"), self.server.points("fresh-records"))


@pytest.fixture
async def copied(tmp_path: Path) -> AsyncIterator[Copied]:
    with serving(is_local=True) as server:
        yield Copied(tmp_path, server)


DOCS, OPS, PLANS = NAMES


async def test_every_change_is_acknowledged_and_in_small_batches(copied: Copied) -> None:
    texts = [f"words {number}" for number in range(300)]
    await copied.put(DOCS, *texts)
    await copied.deliver()
    await copied.put(DOCS, *texts[1:])
    await copied.deliver()
    upserts = [one for one in copied.server.asked("/sources/points") if one.method == "PUT"]
    assert {one.query["wait"] for one in upserts} == {"true"}
    assert max(len(one.body["points"]) for one in upserts) == 250
    [deletion] = copied.server.asked("/points/delete")
    assert (deletion.query["wait"], deletion.query["ordering"]) == ("true", "strong")
    assert len(copied.server.points("sources")) == 299


async def test_points_of_a_renamed_source_go_by_its_new_name(copied: Copied) -> None:
    await copied.put(DOCS, "of the first")
    await copied.deliver()
    await copied.rename({DOCS: OPS})
    await copied.set_public(OPS, is_public=False)
    await copied.put(DOCS, "of the second")
    await copied.deliver()
    assert copied.seen() == {(DOCS, "of the second"), ("", "of the first"), ("", "of the second")}
    await copied.check_equal()


async def test_a_source_with_the_key_of_one_that_is_gone_never_shows_what_that_one_held(copied: Copied) -> None:
    await copied.put(DOCS, "open")
    await copied.put(OPS, "closed", is_public=False)
    await copied.hide(OPS)
    await copied.deliver()
    await copied.forget(OPS)
    await copied.put(PLANS, "open as well")
    for _ in range(2):
        copied.server.faults = [("points/delete", Fault.BROKEN)]
        with pytest.raises(EngineError):
            await copied.deliver()
        assert "closed" not in {text for _, text in copied.seen()}
    await copied.deliver()
    await copied.check_equal()


async def test_what_is_closed_does_not_wait_for_chunks_and_what_is_opened_does(copied: Copied) -> None:
    await copied.put(DOCS, "for everybody")
    await copied.put(OPS, "a secret", is_public=False)
    await copied.deliver()
    await copied.set_public(DOCS, is_public=False)
    await copied.put(OPS, "no secret", is_public=True)
    copied.server.faults = [("PUT /collections/sources/points", Fault.BROKEN)]
    with pytest.raises(EngineError):
        await copied.deliver()
    assert {name for name, _ in copied.seen()} == {""}
    await copied.deliver()
    assert copied.seen() == {(OPS, "no secret"), ("", "no secret"), ("", "for everybody")}


async def test_a_backup_from_before_a_delivery_that_was_stopped_is_known_as_one(copied: Copied) -> None:
    await copied.put(DOCS, "withdrawn")
    await copied.deliver()
    copied.back_up()
    await copied.put(DOCS, "kept")
    async with copied.store() as store, store.transaction():
        await store.record_outcome(DOCS, now_ms=1, fault=None)
    copied.server.faults = [("PUT /collections/sources-records/points", Fault.BROKEN)]
    with pytest.raises(EngineError):
        await copied.deliver()
    copied.bring_back(0, "sources", "sources-records")
    await copied.deliver()
    assert copied.seen() == {(DOCS, "kept"), ("", "kept")}
    await copied.check_equal()


async def test_records_from_a_backup_open_nothing_that_was_closed_since(copied: Copied) -> None:
    await copied.put(DOCS, "for everybody")
    await copied.deliver()
    copied.back_up()
    await copied.set_public(DOCS, is_public=False)
    await copied.deliver()
    copied.bring_back(0, "sources-records")
    await copied.deliver()
    assert copied.seen() == {("", "for everybody")}
    await copied.check_equal()


async def test_records_that_outlive_their_collection_are_not_taken_over(copied: Copied) -> None:
    await copied.put(DOCS, "text")
    await copied.put(OPS, "text")
    await copied.deliver()
    copied.server.client.delete_collection("sources")
    await copied.forget(OPS)
    await copied.deliver()
    await copied.check_equal()
    copied.server.client.delete_collection("sources-records")
    await copied.put(OPS, "more")
    async with copied.store() as store, store.transaction():
        await store.set_value(outgoing.COPIED_TO, "sources")
    with pytest.raises(ConfigError, match="belongs to another writer"):
        await copied.deliver()


async def test_a_writer_that_was_replaced_meanwhile_stops_and_changes_nothing_more(copied: Copied) -> None:
    await copied.put(DOCS, "text")
    await copied.deliver()
    await copied.put(DOCS, "another")
    client = copied.server.client
    answer = copied.server.answer

    def taken_over(request: Any) -> tuple[int, Any]:
        if request.method == "PATCH" and request.path.endswith("/sources"):
            done = answer(request)
            client.update_collection("sources", metadata={**request.body["metadata"], "writer": "another"})
            return done
        return answer(request)

    copied.server.answer = taken_over  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="belongs to another writer"):
        await copied.deliver()
    assert (client.get_collection("sources").config.metadata or {})["writer"] == "another"
    assert [one["payload"]["text"] for one in copied.server.points("sources").values()] == ["text"]


STEP = st.tuples(
    st.sampled_from(["put", "put", "remove", "hide", "show", "close", "open", "forget", "rename", "swap", "embed"]),
    st.sampled_from(NAMES),
    st.integers(0, 99),
)
STOP = st.tuples(st.integers(0, 24), st.sampled_from([Fault.BROKEN, Fault.DEAF, Fault.CUT]))
BACK = st.sampled_from(["", "", "", "file", "both", "sources", "sources-records"])


async def change(copied: Copied, what: str, name: SourceId, number: int) -> None:
    other = NAMES[number % len(NAMES)]
    match what:
        case "put":
            await copied.put(name, f"of {name} {number}", f"also {number % 3}", is_public=number % 2 == 0)
        case "remove":
            await copied.put(name)
        case "hide" | "show":
            await copied.hide(name, is_hidden=what == "hide")
        case "close" | "open":
            await copied.set_public(name, is_public=what == "open")
        case "forget":
            await copied.forget(name)
        case "embed":
            await copied.embed()
        case "swap":
            await copied.rename({name: other, other: name})
        case "rename":
            async with copied.store() as store:
                is_taken = await store.source(other) is not None
            if not is_taken:
                await copied.rename({name: other})


@settings(
    max_examples=3,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(runs=st.lists(st.tuples(st.lists(STEP, max_size=3), BACK, st.integers(0, 9), STOP), min_size=2, max_size=4))
async def test_whatever_fails_and_whenever_nobody_sees_too_much_and_the_last_delivery_ends_with_the_index(
    tmp_path_factory: pytest.TempPathFactory,
    runs: list[tuple[list[tuple[str, SourceId, int]], str, int, tuple[int, Fault]]],
) -> None:
    with serving(is_local=True) as server:
        copied = Copied(tmp_path_factory.mktemp("told"), server)
        await copied.put(DOCS, "the first")
        await copied.deliver()
        for steps, back, which, (place, fault) in runs:
            copied.back_up()
            for step in steps:
                await change(copied, *step)
            if back == "file":
                copied.bring_back_file(which % len(copied.files))
            elif back:
                names = ("sources", "sources-records") if back == "both" else (back,)
                copied.bring_back(which % len(copied.collections), *names)
            before = copied.seen()
            await copied.deliver_until(place, fault)
            assert copied.seen() <= before | await copied.to_see()
        await copied.deliver()
        async with open_cluster(QdrantSettings(server.url)) as cluster:
            assert not (await read_label(cluster)).is_filling
        await copied.check_equal()
