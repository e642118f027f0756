"""Words to the service manager, by datagram: READY, WATCHDOG, STOPPING. Without one that listens, nothing happens."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


class Notifier:
    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address

    def tell(self, *words: str) -> None:
        """Never fails: a manager that does not listen is no reason to stop."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.settimeout(0)
            channel.sendto("\n".join(words).encode(), self._address)
