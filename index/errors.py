"""The error tree. Every message names the place, the problem and the remedy, on one line.

One place maps an error to an exit code (`sources.cli.exits`), one to a chat reply (`bot.render`).
"""


class SourcesError(Exception):
    """Root of what this program foresees."""


class ConfigError(SourcesError):
    """The configuration cannot be used; nothing was contacted."""


class CredentialError(SourcesError):
    """A credential is missing, unreadable, too open, or was refused by the other side."""


class QueryError(SourcesError):
    """A question that cannot be asked; the message names the field."""


class StoreError(SourcesError):
    """The index file cannot be opened, read or written."""


class BusyError(StoreError):
    """Another process holds the write lock; the message names it."""


class ReindexNeededError(StoreError):
    """The index was built under another fingerprint; the message says what differs."""


class EngineError(SourcesError):
    """The engine that ranks chunks cannot be reached or refused a change."""


class EmbedderError(SourcesError):
    """No vectors could be had. Never fatal: search goes on lexically, a refresh leaves them pending."""


class ModelError(SourcesError):
    """The model that writes answers gave none."""


class MatrixError(SourcesError):
    """The homeserver answered something that cannot be used, or nothing."""


class ForgeError(SourcesError):
    """A repository, forge listing or folder of notes cannot be read."""
