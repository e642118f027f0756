"""A child that ends with its parent: it holds one end of a pipe, and goes when the other end is closed.

The kernel closes the pipe however the parent ends, so that not even a killed one leaves anything running.
"""

import os
import threading


def end_with_parent(descriptor: int = 0) -> None:
    """Watch the reading end of a pipe, standard input unless another is named, from a thread of its own."""
    threading.Thread(target=_watch, args=(descriptor,), daemon=True).start()


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 4096):
        pass
    os._exit(0)
