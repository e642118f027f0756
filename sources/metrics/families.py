"""Every metric there is. docs/monitoring.md explains each, and a test holds the two together.

Labels are bounded by the configuration: all rooms are the source `chat`, all repositories of a forge are that forge. No
room, user, path or message is in a metric, since whoever may look at a dashboard may not be allowed to know of them.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct


class Type(StrEnum):
    GAUGE = "gauge"  # as it is now, or was in the last run
    COUNTER = "counter"  # since the file was first written


class Scope(StrEnum):
    """Who knows a value, and so what becomes of it when a run fails: what is not known anew stays as it was."""

    INDEX = "index"  # the index file, whole
    SOURCE = "source"  # the run, for each source that it tried
    RUN = "run"  # the run, even one that failed


class Family(Struct, frozen=True):
    """`name` as Prometheus has it, a counter's with `_total`; bytes, seconds and Unix times are so named."""

    name: str
    type: Type
    scope: Scope
    help: str
    labels: tuple[str, ...] = ()


FAMILIES: Final[tuple[Family, ...]] = (
    Family("sources_build_info", Type.GAUGE, Scope.RUN, "Always 1; the version that ran last.", ("version",)),
    Family(
        "sources_refresh_runs_total", Type.COUNTER, Scope.RUN, "Refreshes by how they ended (exit code).", ("outcome",)
    ),
    Family("sources_refresh_last_run_timestamp_seconds", Type.GAUGE, Scope.RUN, "When the last refresh ended."),
    Family(
        "sources_refresh_last_success_timestamp_seconds",
        Type.GAUGE,
        Scope.RUN,
        "When a refresh of all sources last ended without any failing.",
    ),
    Family("sources_refresh_duration_seconds", Type.GAUGE, Scope.RUN, "How long the last refresh took."),
    Family(
        "sources_refresh_exit_code",
        Type.GAUGE,
        Scope.RUN,
        "Of the last refresh: 0 fine, 3 some source failed, 4 a credential was refused, 5 reindex needed, 70 a bug.",
    ),
    Family(
        "sources_source_runs_total",
        Type.COUNTER,
        Scope.SOURCE,
        "Tries of each source by outcome: unchanged, updated, failed or removed.",
        ("source", "outcome"),
    ),
    Family("sources_source_duration_seconds", Type.GAUGE, Scope.SOURCE, "How long its last try took.", ("source",)),
    Family(
        "sources_source_failed_members",
        Type.GAUGE,
        Scope.INDEX,
        "Of a source: 0, or how many of its rooms or repositories fail (1 where it is only one).",
        ("source",),
    ),
    Family(
        "sources_source_last_success_timestamp_seconds",
        Type.GAUGE,
        Scope.INDEX,
        "When it was last brought up to date; of several rooms or repositories, the one that waits longest.",
        ("source",),
    ),
    Family("sources_source_documents", Type.GAUGE, Scope.INDEX, "Documents in the index.", ("source",)),
    Family("sources_documents_written_total", Type.COUNTER, Scope.SOURCE, "Documents put or replaced.", ("source",)),
    Family("sources_documents_removed_total", Type.COUNTER, Scope.SOURCE, "Documents erased.", ("source",)),
    Family(
        "sources_chunks_total",
        Type.COUNTER,
        Scope.SOURCE,
        "Chunks by change: added, changed or removed.",
        ("source", "change"),
    ),
    Family(
        "sources_skipped_total",
        Type.COUNTER,
        Scope.SOURCE,
        "Files and events that were read and are not indexed.",
        ("source",),
    ),
    Family("sources_vectors_embedded_total", Type.COUNTER, Scope.RUN, "Texts that got a vector."),
    Family("sources_vectors_refused_total", Type.COUNTER, Scope.RUN, "Texts that the embedder refused."),
    Family("sources_vectors_seconds_total", Type.COUNTER, Scope.RUN, "Time spent on vectors."),
    Family("sources_vectors", Type.GAUGE, Scope.INDEX, "Vectors in the index."),
    Family("sources_vectors_pending", Type.GAUGE, Scope.INDEX, "Texts that wait for their vector."),
    Family(
        "sources_vectors_drifted", Type.GAUGE, Scope.INDEX, "1 when the model is another than the one of the index."
    ),
    Family(
        "sources_cluster_chunks_waiting",
        Type.GAUGE,
        Scope.INDEX,
        "Chunks that the cluster has yet to hear of; absent without a cluster.",
    ),
    Family("sources_chat_rooms", Type.GAUGE, Scope.INDEX, "Joined rooms by what was decided of them.", ("outcome",)),
    Family(
        "sources_chat_rooms_upgraded",
        Type.GAUGE,
        Scope.INDEX,
        "Rooms that were upgraded, to others that nobody reads.",
    ),
    Family("sources_chat_gaps", Type.GAUGE, Scope.INDEX, "Timelines of rooms that are still to be filled."),
    Family("sources_chat_unknown_stretches", Type.GAUGE, Scope.INDEX, "Parts of rooms' history that nobody can fill."),
    Family("sources_uncovered_folders", Type.GAUGE, Scope.RUN, "Folders of Markdown that belong to no source."),
    Family("sources_index_size_bytes", Type.GAUGE, Scope.INDEX, "The index file with its log."),
    Family("sources_state_free_bytes", Type.GAUGE, Scope.INDEX, "Free space on the disk of the index."),
    Family("sources_purge_orders_waiting", Type.GAUGE, Scope.INDEX, "Orders to forget that are not carried out."),
    Family(
        "sources_erasure_owed",
        Type.GAUGE,
        Scope.INDEX,
        "1 when deleted text may still be in the bytes of the file; the next refresh wipes it.",
    ),
)

BY_NAME: Final = {family.name: family for family in FAMILIES}
