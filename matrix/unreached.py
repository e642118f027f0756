"""Why no answer came from a homeserver, in words that a new host can act on. Pure."""

import os
import socket
import ssl
from typing import Final

import aiohttp

from matrix.verdict import Later

# X509_V_ERR_* of OpenSSL: what a wrong clock looks like, or a certificate that nobody renewed.
_NOT_YET_VALID: Final = 9
_HAS_EXPIRED: Final = 10


def unreached(error: aiohttp.ClientError | OSError) -> Later:
    """Certificates are settled with one request; the rest may pass, names too: a machine may start before its DNS."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _certificate(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return Later("what listens there speaks no TLS", remedy="check https:// and port of the homeserver's address")
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        if isinstance(cause, socket.gaierror):
            remedy = "check the homeserver's address and this machine's DNS"
            return Later("its name leads to no address", remedy=remedy)
        reason = os.strerror(cause.errno) if cause.errno else type(error).__name__
        return Later(reason, remedy="is the homeserver running, and are address and port right?")
    return Later(type(error).__name__)


def _certificate(error: Exception) -> Later:
    told = error if isinstance(error, ssl.SSLCertVerificationError) else None
    why = f"its certificate is not accepted: {told.verify_message.rstrip('.') if told else type(error).__name__}"
    if told is not None and told.verify_code in (_NOT_YET_VALID, _HAS_EXPIRED):
        return Later(why, remedy="is this machine's clock right? then renew the certificate", is_lasting=True)
    remedy = "check the homeserver's address; an authority of your own has to be trusted by this machine"
    return Later(why, remedy=remedy, is_lasting=True)
