"""A child that ends with its parent: it holds one end of a pipe, and goes when the other end is closed.

The kernel closes the pipe however the parent ends, so that not even a killed one leaves anything running.
"""

import os
import threading


def end_with_parent() -> None:
    """Watch standard input, of which the parent holds the other end, from a thread of its own."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)
