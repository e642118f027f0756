"""Signals that end a program, for commands that must take something away before they go."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

_ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Handler = Callable[[int, FrameType | None], object] | signal.Handlers


def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    """Whatever ends the process ends it as Ctrl-C does: `finally` is reached, and the exit code says interrupted."""
    raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def endings(handler: Handler) -> Iterator[None]:
    """Inside, all of them go to `handler`. Of the main thread alone."""
    before = [(number, signal.signal(number, handler)) for number in _ENDINGS]
    try:
        yield
    finally:
        for number, former in before:
            signal.signal(number, former)
