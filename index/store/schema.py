"""The tables of the index file, as steps that are only ever appended.

Each step and the record of it share a transaction; a file that a newer program wrote is refused.

`chunk_key = source_key << 32 | n`: the chunks of one source are one range of keys, so that a filter by room, repository
or audience is a comparison of numbers, in the full-text index as well. The id that the outside sees is `chunk.id`.

Text stands in `chunk` alone; `words` and `grams` index it (external content, kept in step by triggers and `fulltext`)
and `term` is a view of the postings; for the few chunks that `young` names it is `young_words`, `young_grams` and
`young_term`. Vectors stand in one plain table by chunk, the master copy; `code` holds the codes made of them (`codes`,
`signs`), a row for each 256 chunk keys. Triggers say which rows are to be made anew. `tally` has the words of each
chunk as numbers (`tallies`).

Chat has its own half (step 2): `room` and what is around it say what may be read and how far it was read, `ledger` what
each message says now, `chat_window` which messages stand together in one document.
"""

from typing import Final

STEPS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

    CREATE TABLE source(
        source_key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        corpus TEXT NOT NULL,
        label TEXT NOT NULL DEFAULT '',          -- what people call it: a name, an alias
        is_public INTEGER NOT NULL DEFAULT 0,
        is_hidden INTEGER NOT NULL DEFAULT 0,    -- out of every search, not yet erased
        next_chunk INTEGER NOT NULL DEFAULT 0,
        chunks INTEGER NOT NULL DEFAULT 0,       -- kept by triggers: what a score needs, of the visible sources alone
        words INTEGER NOT NULL DEFAULT 0,
        position TEXT,                           -- the cursor
        tried_ms INTEGER, succeeded_ms INTEGER, fault TEXT
    );

    CREATE TABLE document(
        document_key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        source_key INTEGER NOT NULL REFERENCES source,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        path TEXT, room TEXT,
        revision TEXT NOT NULL,
        first_ms INTEGER, last_ms INTEGER,
        has_link INTEGER NOT NULL,
        payload TEXT NOT NULL
    );
    CREATE INDEX document_source ON document(source_key, path);
    CREATE TABLE document_label(                 -- front matter that can be filtered on: tag, area, confidence
        document_key INTEGER NOT NULL REFERENCES document, name TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY(name, value, document_key)
    ) WITHOUT ROWID;
    CREATE INDEX document_label_document ON document_label(document_key);

    CREATE TABLE chunk(
        chunk_key INTEGER PRIMARY KEY,
        id INTEGER NOT NULL UNIQUE,
        document_key INTEGER NOT NULL REFERENCES document,
        ordinal INTEGER NOT NULL,
        size INTEGER NOT NULL,                   -- words in title and body
        title TEXT NOT NULL,                     -- titles, headings and path as they are searched
        body TEXT NOT NULL,
        keys TEXT NOT NULL,                      -- of inflected words and pieces of identifiers
        heading TEXT NOT NULL,
        section TEXT, paragraph TEXT,
        first_line INTEGER, last_line INTEGER,
        flags TEXT NOT NULL,
        messages TEXT NOT NULL,
        digest BLOB NOT NULL                     -- of all that is stored or embedded of this chunk
    );
    CREATE INDEX chunk_document ON chunk(document_key, ordinal);
    CREATE INDEX chunk_size ON chunk(chunk_key, size);
    CREATE TABLE chunk_sender(
        sender TEXT NOT NULL, chunk_key INTEGER NOT NULL REFERENCES chunk, PRIMARY KEY(sender, chunk_key)
    ) WITHOUT ROWID;
    CREATE INDEX chunk_sender_chunk ON chunk_sender(chunk_key);

    CREATE VIRTUAL TABLE words USING fts5(
        title, body, keys, content=chunk, content_rowid=chunk_key, tokenize='unicode61 remove_diacritics 2'
    );
    INSERT INTO words(words, rank) VALUES ('secure-delete', 1);
    CREATE VIRTUAL TABLE term USING fts5vocab(words, instance);
    CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
    CREATE VIRTUAL TABLE grams USING fts5(
        title, body, content=chunk, content_rowid=chunk_key, detail=none, columnsize=0,
        tokenize='trigram remove_diacritics 1'
    );
    INSERT INTO grams(grams, rank) VALUES ('secure-delete', 1);
    CREATE TRIGGER chunk_insert AFTER INSERT ON chunk BEGIN
        INSERT INTO words(rowid, title, body, keys) VALUES (new.chunk_key, new.title, new.body, new.keys);
        INSERT INTO grams(rowid, title, body) VALUES (new.chunk_key, new.title, new.body);
        UPDATE source SET chunks = chunks + 1, words = words + new.size WHERE source_key = new.chunk_key >> 32;
    END;
    CREATE TRIGGER chunk_delete AFTER DELETE ON chunk BEGIN
        INSERT INTO words(words, rowid, title, body, keys)
            VALUES ('delete', old.chunk_key, old.title, old.body, old.keys);
        INSERT INTO grams(grams, rowid, title, body) VALUES ('delete', old.chunk_key, old.title, old.body);
        UPDATE source SET chunks = chunks - 1, words = words - old.size WHERE source_key = old.chunk_key >> 32;
    END;
    CREATE TRIGGER chunk_resize AFTER UPDATE OF size ON chunk WHEN new.size <> old.size BEGIN
        UPDATE source SET words = words + new.size - old.size WHERE source_key = new.chunk_key >> 32;
    END;
    CREATE TRIGGER chunk_update AFTER UPDATE OF title, body, keys ON chunk
    WHEN new.title <> old.title OR new.body <> old.body OR new.keys <> old.keys BEGIN
        INSERT INTO words(words, rowid, title, body, keys)
            VALUES ('delete', old.chunk_key, old.title, old.body, old.keys);
        INSERT INTO words(rowid, title, body, keys) VALUES (new.chunk_key, new.title, new.body, new.keys);
        INSERT INTO grams(grams, rowid, title, body) VALUES ('delete', old.chunk_key, old.title, old.body);
        INSERT INTO grams(rowid, title, body) VALUES (new.chunk_key, new.title, new.body);
    END;

    CREATE TABLE part(                           -- the spans of a chunk that get a vector each
        part_key INTEGER PRIMARY KEY,
        chunk_key INTEGER NOT NULL REFERENCES chunk,
        ordinal INTEGER NOT NULL,
        first INTEGER NOT NULL, past INTEGER NOT NULL,
        digest BLOB NOT NULL,                    -- of the text that is embedded
        cell INTEGER,                            -- where its vector stands; null: pending
        refusal TEXT                             -- why it can have none; cleared by a change of its text
    );
    CREATE INDEX part_chunk ON part(chunk_key, ordinal);
    CREATE INDEX part_pending ON part(part_key) WHERE cell IS NULL AND refusal IS NULL;
    CREATE TABLE vector(
        cell INTEGER NOT NULL, part_key INTEGER NOT NULL, chunk_key INTEGER NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY(cell, part_key)
    ) WITHOUT ROWID;
    CREATE TABLE cell(cell INTEGER PRIMARY KEY, centroid BLOB NOT NULL);

    CREATE TABLE file_state(                     -- of folders without history: what a file looked like when it was read
        source_key INTEGER NOT NULL REFERENCES source, path TEXT NOT NULL, state TEXT NOT NULL,
        PRIMARY KEY(source_key, path)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE room(                           -- every Matrix room that the reader was ever seen in
        room_key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL, alias TEXT NOT NULL,
        join_rule TEXT NOT NULL, visibility TEXT NOT NULL,
        is_joined INTEGER NOT NULL, is_federated INTEGER NOT NULL,
        left_ms INTEGER, left_token TEXT,        -- since when the reader is out, and the sync it was last in
        outcome TEXT NOT NULL,                   -- admitted, suspended, refused; empty before the first verdict
        findings TEXT NOT NULL, decided_ms INTEGER,
        facts TEXT NOT NULL, state_ms INTEGER NOT NULL,
        lifetime_ms INTEGER,                     -- how long the room lets messages live
        phase TEXT NOT NULL,                     -- how far its history was read
        is_stale INTEGER NOT NULL,               -- the next reading replaces what is stored
        position TEXT, since TEXT, fresh_token TEXT,
        seen_visibility TEXT NOT NULL,           -- where reading stands
        last_order INTEGER NOT NULL, last_event TEXT, last_ms INTEGER
    );
    CREATE TABLE room_gap(                       -- of a timeline, being read backwards
        gap_key INTEGER PRIMARY KEY,
        room_key INTEGER NOT NULL REFERENCES room,
        token TEXT, until TEXT,
        next_order INTEGER NOT NULL,
        visibility TEXT NOT NULL,
        is_thorough INTEGER NOT NULL, known INTEGER NOT NULL,
        last_event TEXT, last_ms INTEGER,
        opened_ms INTEGER NOT NULL
    );
    CREATE INDEX room_gap_room ON room_gap(room_key);
    CREATE TABLE room_unknown(                   -- stretches that could not be read
        room_key INTEGER NOT NULL REFERENCES room, first_ms INTEGER, last_ms INTEGER, why TEXT NOT NULL,
        found_ms INTEGER NOT NULL
    );
    CREATE INDEX room_unknown_room ON room_unknown(room_key);
    CREATE TABLE room_alias(                     -- where the aliases of the configuration ever led to
        alias TEXT NOT NULL, room TEXT NOT NULL, PRIMARY KEY(alias, room)
    ) WITHOUT ROWID;

    CREATE TABLE person(person_key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
    CREATE TABLE chat_window(
        window_key INTEGER PRIMARY KEY,
        room_key INTEGER NOT NULL REFERENCES room,
        id TEXT NOT NULL,
        lane TEXT NOT NULL,                      -- root of the thread; empty: the main timeline
        last_ms INTEGER NOT NULL, size_bytes INTEGER NOT NULL, is_open INTEGER NOT NULL,
        UNIQUE(room_key, id)
    );
    CREATE UNIQUE INDEX chat_window_open ON chat_window(room_key, lane) WHERE is_open;
    CREATE TABLE ledger(                         -- messages and edits
        event_key INTEGER PRIMARY KEY,
        room_key INTEGER NOT NULL REFERENCES room,
        event TEXT NOT NULL,
        person_key INTEGER NOT NULL REFERENCES person,
        type TEXT NOT NULL,
        family TEXT,                             -- what an edit replaces; null: an original
        position INTEGER NOT NULL,               -- the server's order, inside the room
        claimed_ms INTEGER NOT NULL, sent_ms INTEGER NOT NULL,
        body TEXT NOT NULL, links TEXT,          -- scrubbed
        flags INTEGER NOT NULL,
        thread_root TEXT,
        winner TEXT,                             -- the edit that counts; null: none
        window_key INTEGER REFERENCES chat_window,
        is_waiting INTEGER NOT NULL,             -- for a gap before it to be filled
        UNIQUE(room_key, event)
    );
    CREATE INDEX ledger_family ON ledger(room_key, family) WHERE family IS NOT NULL;
    CREATE INDEX ledger_window ON ledger(window_key) WHERE window_key IS NOT NULL;
    CREATE INDEX ledger_waiting ON ledger(room_key, position) WHERE is_waiting;
    CREATE INDEX ledger_time ON ledger(room_key, sent_ms);
    CREATE INDEX ledger_person ON ledger(person_key);
    CREATE TABLE skipped_event(                  -- met and not kept; the id itself only of odd ones
        room_key INTEGER NOT NULL REFERENCES room, digest INTEGER NOT NULL, reason TEXT NOT NULL, event TEXT,
        PRIMARY KEY(room_key, digest)
    ) WITHOUT ROWID;
    CREATE TABLE tombstone(                      -- what must stay gone
        room_key INTEGER NOT NULL REFERENCES room, event TEXT NOT NULL, why TEXT NOT NULL,
        PRIMARY KEY(room_key, event)
    ) WITHOUT ROWID;
    CREATE TABLE purge(                          -- standing orders to forget; null: any
        purge_key INTEGER PRIMARY KEY,
        room TEXT, event TEXT, sender TEXT, after_ms INTEGER, before_ms INTEGER,
        ordered_ms INTEGER NOT NULL, ordered_by TEXT NOT NULL, reason TEXT NOT NULL,
        applied_ms INTEGER, removed INTEGER NOT NULL DEFAULT 0, proof TEXT NOT NULL DEFAULT ''
    );
    """,
    """
    CREATE TABLE forge_repo(                     -- a source that was found in the listing of a forge, itself a source
        source_key INTEGER PRIMARY KEY REFERENCES source,
        forge_key INTEGER NOT NULL REFERENCES source,
        number TEXT NOT NULL,                    -- the forge's own, which outlives names
        url TEXT NOT NULL,
        settled TEXT NOT NULL DEFAULT '',        -- what made it be up to date
        UNIQUE(forge_key, number)
    );
    CREATE TABLE forge_page(                     -- answers of a listing, to be asked whether they still hold
        forge_key INTEGER NOT NULL REFERENCES source, request TEXT NOT NULL, answer TEXT NOT NULL,
        PRIMARY KEY(forge_key, request)
    ) WITHOUT ROWID;
    """,
    """
    -- Of rows that are deleted and inserted in one go, an index with detail=none and secure-delete loses postings, and
    -- others' as well (SQLite 3.53.4). FTS5 writes out at each statement, so only one that changes several texts would
    -- meet that; a row with a lower key makes it write out the deletion first.
    DROP TRIGGER chunk_update;
    CREATE TRIGGER chunk_update AFTER UPDATE OF title, body, keys ON chunk
    WHEN new.title <> old.title OR new.body <> old.body OR new.keys <> old.keys BEGIN
        INSERT INTO words(words, rowid, title, body, keys)
            VALUES ('delete', old.chunk_key, old.title, old.body, old.keys);
        INSERT INTO words(rowid, title, body, keys) VALUES (new.chunk_key, new.title, new.body, new.keys);
        INSERT INTO grams(grams, rowid, title, body) VALUES ('delete', old.chunk_key, old.title, old.body);
        INSERT INTO grams(rowid, title, body) VALUES (-1, '', '');
        INSERT INTO grams(grams, rowid, title, body) VALUES ('delete', -1, '', '');
        INSERT INTO grams(rowid, title, body) VALUES (new.chunk_key, new.title, new.body);
    END;
    INSERT INTO grams(grams) VALUES ('rebuild');
    """,
    """
    -- What a copy of the index in a cluster has yet to hear of: see `outgoing`. Both stay empty where there is none.
    CREATE TABLE outgoing(chunk INTEGER PRIMARY KEY);
    CREATE TABLE published(name TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
    """,
    """
    -- Of near cells: a cell's number begins with that of its region. Empty until vectors are divided anew.
    CREATE TABLE region(region INTEGER PRIMARY KEY, centroid BLOB NOT NULL);
    """,
    """
    -- What a message answers, which an order to forget may reach as well. Empty: nothing, and so in edits; null: not
    -- known, of a message that was stored before this step, until its room was looked through again.
    ALTER TABLE ledger ADD COLUMN reply_to TEXT;
    UPDATE ledger SET reply_to = '' WHERE family IS NOT NULL;
    CREATE INDEX ledger_reply ON ledger(room_key, reply_to) WHERE reply_to <> '';
    CREATE INDEX ledger_unasked ON ledger(room_key) WHERE reply_to IS NULL;
    ALTER TABLE purge ADD COLUMN takes_replies INTEGER NOT NULL DEFAULT 0;
    """,
    """
    -- FTS5 writes out what it has before each statement, so that a row of the full-text indexes for each chunk as it
    -- comes costs more than all else. Here are the chunks that `fulltext` takes into them at the end of a transaction:
    -- between two transactions there are none. What goes or changes leaves the indexes at once, by its old text.
    CREATE TABLE unindexed(chunk_key INTEGER PRIMARY KEY);
    DROP TRIGGER chunk_insert;
    CREATE TRIGGER chunk_insert AFTER INSERT ON chunk BEGIN
        INSERT INTO unindexed(chunk_key) VALUES (new.chunk_key);
        UPDATE source SET chunks = chunks + 1, words = words + new.size WHERE source_key = new.chunk_key >> 32;
    END;
    DROP TRIGGER chunk_delete;
    CREATE TRIGGER chunk_delete AFTER DELETE ON chunk BEGIN
        INSERT INTO words(words, rowid, title, body, keys)
            SELECT 'delete', old.chunk_key, old.title, old.body, old.keys
            WHERE old.chunk_key NOT IN (SELECT chunk_key FROM unindexed);
        INSERT INTO grams(grams, rowid, title, body)
            SELECT 'delete', old.chunk_key, old.title, old.body
            WHERE old.chunk_key NOT IN (SELECT chunk_key FROM unindexed);
        DELETE FROM unindexed WHERE chunk_key = old.chunk_key;
        UPDATE source SET chunks = chunks - 1, words = words - old.size WHERE source_key = old.chunk_key >> 32;
    END;
    DROP TRIGGER chunk_update;
    CREATE TRIGGER chunk_update AFTER UPDATE OF title, body, keys ON chunk
    WHEN (new.title <> old.title OR new.body <> old.body OR new.keys <> old.keys)
    AND old.chunk_key NOT IN (SELECT chunk_key FROM unindexed) BEGIN
        INSERT INTO words(words, rowid, title, body, keys)
            VALUES ('delete', old.chunk_key, old.title, old.body, old.keys);
        INSERT INTO grams(grams, rowid, title, body) VALUES ('delete', old.chunk_key, old.title, old.body);
        INSERT INTO unindexed(chunk_key) VALUES (old.chunk_key);
    END;
    """,
    """
    -- The vectors once more, by chunk, while they are divided into cells: a narrow filter leaves a few runs of them.
    CREATE TABLE chunk_vector(
        chunk_key INTEGER NOT NULL, part_key INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(chunk_key, part_key)
    ) WITHOUT ROWID;
    INSERT INTO chunk_vector(chunk_key, part_key, data)
        SELECT part.chunk_key, part.part_key, data FROM part INDEXED BY part_chunk
        CROSS JOIN vector ON vector.cell = part.cell AND vector.part_key = part.part_key
        WHERE part.cell <> 0 ORDER BY part.chunk_key;
    CREATE TRIGGER vector_insert AFTER INSERT ON vector WHEN new.cell <> 0 BEGIN
        INSERT INTO chunk_vector(chunk_key, part_key, data) VALUES (new.chunk_key, new.part_key, new.data);
    END;
    CREATE TRIGGER vector_delete AFTER DELETE ON vector WHEN old.cell <> 0 BEGIN
        DELETE FROM chunk_vector WHERE chunk_key = old.chunk_key AND part_key = old.part_key;
    END;
    """,
    """
    -- One table of vectors, by chunk: what a narrow filter leaves, and what is looked up, are runs of it. Cells go.
    DROP TRIGGER vector_insert;
    DROP TRIGGER vector_delete;
    INSERT INTO chunk_vector(chunk_key, part_key, data)
        SELECT part.chunk_key, part.part_key, data FROM part INDEXED BY part_chunk
        CROSS JOIN vector ON vector.cell = part.cell AND vector.part_key = part.part_key
        WHERE part.cell = 0 ORDER BY part.chunk_key;
    DROP TABLE vector;
    DROP TABLE cell;
    DROP TABLE region;
    ALTER TABLE chunk_vector RENAME TO vector;
    ALTER TABLE part RENAME COLUMN cell TO has_vector;  -- 1, or null
    UPDATE part SET has_vector = 1 WHERE has_vector IS NOT NULL;

    -- A row for the vectors of 256 chunk keys: how many they are and, while there is a frame, their codes and a digest.
    CREATE TABLE code(block INTEGER PRIMARY KEY, vectors INTEGER NOT NULL, digest BLOB, data BLOB);
    CREATE INDEX code_digest ON code(block, vectors, digest);
    CREATE TABLE frame(vectors INTEGER NOT NULL, centre BLOB NOT NULL);  -- of how many it was made
    CREATE TABLE uncoded(block INTEGER PRIMARY KEY);  -- between two transactions there are none, but after this step
    INSERT INTO code(block, vectors) SELECT chunk_key >> 8, count(*) FROM vector GROUP BY 1;
    INSERT INTO uncoded(block) SELECT block FROM code;
    CREATE TRIGGER vector_insert AFTER INSERT ON vector BEGIN
        INSERT INTO uncoded(block) SELECT new.chunk_key >> 8
            WHERE new.chunk_key >> 8 NOT IN (SELECT block FROM uncoded);
    END;
    CREATE TRIGGER vector_delete AFTER DELETE ON vector BEGIN
        INSERT INTO uncoded(block) SELECT old.chunk_key >> 8
            WHERE old.chunk_key >> 8 NOT IN (SELECT block FROM uncoded);
    END;
    CREATE TRIGGER vector_update AFTER UPDATE ON vector BEGIN
        INSERT INTO uncoded(block) SELECT old.chunk_key >> 8
            WHERE old.chunk_key >> 8 NOT IN (SELECT block FROM uncoded);
        INSERT INTO uncoded(block) SELECT new.chunk_key >> 8
            WHERE new.chunk_key >> 8 NOT IN (SELECT block FROM uncoded);
    END;
    """,
    """
    -- Chunks that may grow, such as the last window of a room, are in full-text indexes of their own, with `fulltext`:
    -- to take a text out of a large index without a trace costs more than all else that a new message does. They are
    -- never deleted from securely: a wipe writes them anew. A file of before has none until something grows.
    ALTER TABLE unindexed ADD COLUMN may_grow INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE young(
        chunk_key INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL                    -- higher: written later
    );
    CREATE VIEW young_chunk AS SELECT chunk_key, title, body, keys FROM young CROSS JOIN chunk USING (chunk_key);
    CREATE VIRTUAL TABLE young_words USING fts5(
        title, body, keys, content=young_chunk, content_rowid=chunk_key, tokenize='unicode61 remove_diacritics 2'
    );
    CREATE VIRTUAL TABLE young_term USING fts5vocab(young_words, instance);
    CREATE VIRTUAL TABLE young_grams USING fts5(
        title, body, content=young_chunk, content_rowid=chunk_key, detail=none, columnsize=0,
        tokenize='trigram remove_diacritics 1'
    );
    DROP TRIGGER chunk_delete;
    CREATE TRIGGER chunk_delete AFTER DELETE ON chunk BEGIN
        INSERT INTO words(words, rowid, title, body, keys)
            SELECT 'delete', old.chunk_key, old.title, old.body, old.keys
            WHERE old.chunk_key NOT IN (SELECT chunk_key FROM unindexed)
            AND old.chunk_key NOT IN (SELECT chunk_key FROM young);
        INSERT INTO grams(grams, rowid, title, body)
            SELECT 'delete', old.chunk_key, old.title, old.body
            WHERE old.chunk_key NOT IN (SELECT chunk_key FROM unindexed)
            AND old.chunk_key NOT IN (SELECT chunk_key FROM young);
        INSERT INTO young_words(young_words, rowid, title, body, keys)
            SELECT 'delete', old.chunk_key, old.title, old.body, old.keys
            WHERE old.chunk_key IN (SELECT chunk_key FROM young);
        INSERT INTO young_grams(young_grams, rowid, title, body)
            SELECT 'delete', old.chunk_key, old.title, old.body
            WHERE old.chunk_key IN (SELECT chunk_key FROM young);
        DELETE FROM young WHERE chunk_key = old.chunk_key;
        DELETE FROM unindexed WHERE chunk_key = old.chunk_key;
        UPDATE source SET chunks = chunks - 1, words = words - old.size WHERE source_key = old.chunk_key >> 32;
    END;
    DROP TRIGGER chunk_update;
    CREATE TRIGGER chunk_update AFTER UPDATE OF title, body, keys ON chunk
    WHEN (new.title <> old.title OR new.body <> old.body OR new.keys <> old.keys)
    AND old.chunk_key NOT IN (SELECT chunk_key FROM unindexed) BEGIN
        INSERT INTO words(words, rowid, title, body, keys)
            SELECT 'delete', old.chunk_key, old.title, old.body, old.keys
            WHERE old.chunk_key NOT IN (SELECT chunk_key FROM young);
        INSERT INTO grams(grams, rowid, title, body)
            SELECT 'delete', old.chunk_key, old.title, old.body
            WHERE old.chunk_key NOT IN (SELECT chunk_key FROM young);
        INSERT INTO young_words(young_words, rowid, title, body, keys)
            SELECT 'delete', old.chunk_key, old.title, old.body, old.keys
            WHERE old.chunk_key IN (SELECT chunk_key FROM young);
        INSERT INTO young_grams(young_grams, rowid, title, body)
            SELECT 'delete', old.chunk_key, old.title, old.body
            WHERE old.chunk_key IN (SELECT chunk_key FROM young);
        DELETE FROM young WHERE chunk_key = old.chunk_key;
        INSERT INTO unindexed(chunk_key) VALUES (old.chunk_key);
    END;
    """,
    """
    -- Of each chunk its words as numbers: see `text.tally`. Chunks of before get theirs from `tallies`, some at a time.
    CREATE TABLE tally(chunk_key INTEGER PRIMARY KEY, data BLOB NOT NULL);
    INSERT INTO meta(name, value) SELECT 'tallies.behind', '0' WHERE EXISTS (SELECT 1 FROM chunk);
    CREATE TRIGGER tally_delete AFTER DELETE ON chunk BEGIN
        DELETE FROM tally WHERE chunk_key = old.chunk_key;
    END;
    CREATE TRIGGER tally_update AFTER UPDATE OF title, body, keys ON chunk
    WHEN new.title <> old.title OR new.body <> old.body OR new.keys <> old.keys BEGIN
        DELETE FROM tally WHERE chunk_key = old.chunk_key;
    END;
    DROP TABLE vocabulary;
    """,
    """
    -- What FTS5 holds in memory before it writes out, in bytes: all of some thousand new chunks instead of a tenth, so
    -- that there is less to merge afterwards.
    INSERT INTO words(words, rank) VALUES ('hashsize', 8388608);
    INSERT INTO grams(grams, rank) VALUES ('hashsize', 8388608);
    """,
    """
    -- What was said or changed last, room by room: for filters by time, and lists of what is newest.
    CREATE INDEX document_last ON document(source_key, last_ms);
    CREATE INDEX document_first ON document(source_key, first_ms);
    CREATE INDEX document_link ON document(source_key) WHERE has_link = 1;
    """,
)
