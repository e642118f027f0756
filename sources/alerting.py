"""Alerts through Apprise, which speaks to chats, mail and telephones by one kind of address.

Such an address holds a token: it comes from the credential directory, and Apprise's own log, which can hold it, is
silenced.
"""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from index.errors import ConfigError, SourcesError
from sources.config.model import Config
from sources.credentials import Credentials


class AlertError(SourcesError):
    """An alert could not be delivered."""


def alert(config: Config, credentials: Credentials, title: str, text: str) -> None:
    """Send one alert. Raises ConfigError or CredentialError when it is not set up, AlertError when it was refused."""
    name = config.audit.alert_credential
    if name is None:
        raise ConfigError("audit.alert_credential: is not set, so there is nobody to alert (name a credential)")
    secret = credentials.read(name)
    try:
        import apprise
    except ImportError as error:
        raise ConfigError(
            "--alert: package apprise is not installed (install the extra alerts: docs/install.md)"
        ) from error
    with _silenced("apprise"):
        sender = apprise.Apprise()
        if not sender.add(secret.reveal()):
            raise AlertError(f"credential {name}: is no address that Apprise knows (see its list of services)")
        if not sender.notify(title=title, body=text):
            raise AlertError(f"credential {name}: the alert was not delivered (try it with `apprise -vv`)")


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its plugins, all of which it loads
            yield
    finally:
        logger.setLevel(level)
