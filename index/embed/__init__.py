"""Vectors for texts: a local model, a server, or none. Importing this package loads nothing heavy."""

from index.embed.base import Embedded, Embedder, EmbedderIdentity, EmbedSettings, Refusal, Role
from index.embed.factory import open_embedder

__all__ = ["EmbedSettings", "Embedded", "Embedder", "EmbedderIdentity", "Refusal", "Role", "open_embedder"]
