"""The tables of the index file, as steps that are only ever appended.

Each step and the record of it share a transaction; a file that a newer program wrote is refused.

`chunk_key = source_key << 32 | n`: the chunks of one source are one range of keys, so that a filter by room, repository
or audience is a comparison of numbers, in the full-text index as well. The id that the outside sees is `chunk.id`.

Text stands in `chunk` alone; `words` and `grams` index it (external content, kept in step by triggers) and `term` is a
view of the postings. Vectors stand in one plain table clustered by cell of near vectors; that table is master copy and
index in one, so nothing of a vector is left elsewhere when its row goes.
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
)
