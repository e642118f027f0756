"""Probe of the model that writes answers: its service is asked which models it has, which costs no tokens."""

import json
from collections.abc import Sequence

from index.errors import SourcesError
from sources.asking.wire import endpoint
from sources.checks.base import Finding, Verdict, failure
from sources.config.model import Config
from sources.config.settings import secret_reader
from sources.credentials import Credentials

_NAME = "ask"
_MAX_BYTES = 4 << 20


async def probe(config: Config, credentials: Credentials) -> Sequence[Finding]:
    ask = config.ask
    if ask.kind == "off":
        return []
    import httpx

    address = endpoint(ask.url or "").removesuffix("/chat/completions") + "/models"
    try:
        read = secret_reader(credentials, ask.api_key_credential)
        headers = {"Authorization": f"Bearer {read()}"} if read else {}
        timeout = httpx.Timeout(ask.connect_timeout_ms / 1000)
        async with httpx.AsyncClient(timeout=timeout) as client:
            response = await client.get(address, headers=headers)
    except SourcesError as error:
        return [failure(_NAME, error)]
    except httpx.HTTPError as error:
        detail = f"{ask.url}: no answer ({type(error).__name__})"
        return [Finding(_NAME, Verdict.FAIL, detail, "start the service, or mend ask.url")]
    return [_judged(response.status_code, response.content[:_MAX_BYTES], ask.url or "", ask.model or "")]


def _judged(status: int, body: bytes, url: str, model: str) -> Finding:
    if status in (401, 403):
        return Finding(_NAME, Verdict.FAIL, f"{url}: HTTP {status}", "renew ask.api_key_credential")
    names = _names(body) if status == 200 else None
    if names is None:  # the list is no must: some services have none
        detail = f"{url}: answers, and gives no list of models (HTTP {status})"
        return Finding(_NAME, Verdict.WARN, detail, "try `sources ask`")
    if model not in names and f"{model}:latest" not in names:
        return Finding(_NAME, Verdict.WARN, f"{url}: does not list the model {model}", f"it has: {_some(names)}")
    return Finding(_NAME, Verdict.OK, f"{url} has {model}")


def _names(body: bytes) -> list[str] | None:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    data = told.get("data") if isinstance(told, dict) else None
    if not isinstance(data, list):
        return None
    names = [one.get("id") for one in data if isinstance(one, dict)]
    return [name for name in names if isinstance(name, str)]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(name[:60] for name in names[:5]) or "none"
    return shown + (", …" if len(names) > 5 else "")
