"""The engine that ranks in a Qdrant cluster, and the copying of the index into it. See docs/qdrant.md.

The writer's SQLite file stays the master copy; the cluster holds one point for each chunk and, in a small collection
beside it, what readers need to know of sources and rooms. Only this folder imports qdrant-client, and only when the
configuration asks for it.
"""
