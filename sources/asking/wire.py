"""What goes to a chat endpoint and what comes back, for OpenAI's protocol as servers really speak it. Pure.

An answer comes as server-sent events, or whole, from servers that do not stream. `Reading` takes its bytes as they
arrive and gives pieces of text; in the end it knows whether the answer is whole.
"""

import codecs
import json
import re
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

_ROUTE: Final = "/v1/chat/completions"
_THINKING: Final = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHT: Final = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_TAGS: Final = ("<think>", "<thinking>")
_LONGEST_TAG: Final = len("</thinking>")
_WHY: Final = {
    "length": "the model stopped at its longest answer",
    "content_filter": "the service withheld the rest of the answer",
}


class AnswerError(Exception):
    """An answer that cannot be used. The message holds nothing of its content."""


class Limits(Struct, frozen=True):
    """Bytes of a whole answer with its wrapping, and characters of its text."""

    max_bytes: int = 4 << 20
    max_chars: int = 60_000


def endpoint(url: str) -> str:
    """The route is added to a base, `/v1` included or not, and left alone where it is there."""
    base = url.rstrip("/")
    path = urlsplit(base).path
    if path.endswith("/chat/completions"):
        return base
    return base + ("/chat/completions" if path.endswith("/v1") else _ROUTE)


def request_body(model: str, system: str, user: str, temperature: float | None) -> dict[str, object]:
    """The least that every server understands: what limits answers is called differently everywhere."""
    body: dict[str, object] = {
        "model": model,
        "stream": True,
        "messages": [{"role": "system", "content": _sendable(system)}, {"role": "user", "content": _sendable(user)}],
    }
    return body if temperature is None else {**body, "temperature": temperature}


def _sendable(text: str) -> str:
    """Without halves of character pairs, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Reading:
    """One answer being read. `note` says why a whole answer is not all that there was to say."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""  # not yet a line, or the body of an answer that is no stream
        self._is_stream: bool | None = None
        self._data: list[str] = []
        self._bytes = 0
        self._chars = 0
        self._thoughts = _Thoughts()
        self.is_whole = False
        self.note = ""

    def feed(self, data: bytes) -> str:
        """The text that these bytes add. Raises AnswerError for what is no answer."""
        self._bytes += len(data)
        if self._bytes > self._limits.max_bytes:
            raise AnswerError("the answer has no end")
        told = self._decoder.decode(data)
        self._text += told
        if self._is_stream is None:
            self._is_stream = _looks_like_events(self._text)
        elif "\n" not in told and "\r" not in told:
            return ""  # no line ends here
        return self._given(self._lines()) if self._is_stream else ""

    def finish(self) -> str:
        """After the last byte. Raises AnswerError when there was nothing that can be used."""
        self._text += self._decoder.decode(b"", final=True)
        if not self._is_stream:
            text, reason = _whole(self._text)
            self._stopped(reason)
            self.is_whole = True
            return self._given(self._thoughts.feed(text) + self._thoughts.rest())
        self._text += "\n\n"  # an event may lack its blank line at the very end
        try:
            text = self._lines()
        except AnswerError:  # half an event: what came before it was given, and the answer is not whole
            text = ""
        return self._given(text + self._thoughts.rest())

    @property
    def is_empty(self) -> bool:
        return self._chars == 0

    def _given(self, text: str) -> str:
        text = text[: self._limits.max_chars - self._chars]
        self._chars += len(text)
        if self._chars >= self._limits.max_chars:
            self.note = "the answer was cut, it had no end"
            self.is_whole = True
        return text

    def _lines(self) -> str:
        """Take whole lines off the text; an event ends at a blank one."""
        # A lone CR ends a line too, unless its LF is still on the way.
        *lines, self._text = re.split(r"\r\n|\n|\r(?!$)", self._text)
        pieces = []
        for line in lines:
            if line.startswith("data:"):
                self._data.append(line[5:].removeprefix(" "))
            elif not line and self._data:
                event, self._data = "\n".join(self._data), []
                pieces.append(self._thoughts.feed(self._event(event)))
        return "".join(pieces)

    def _event(self, event: str) -> str:
        if self.is_whole:
            return ""
        if event.strip() == "[DONE]":
            self.is_whole = True
            return ""
        text, reason = _piece(event)
        self._stopped(reason)
        return text

    def _stopped(self, reason: str | None) -> None:
        if reason is not None:
            self.is_whole = True
            self.note = _WHY.get(reason, "")


def _looks_like_events(text: str) -> bool | None:
    start = text.lstrip("\ufeff \r\n\t")
    if not start:
        return None
    for field in ("data:", "event:", "id:", "retry:", ":"):
        if start.startswith(field):
            return True
        if field.startswith(start):
            return None
    return False


def _piece(event: str) -> tuple[str, str | None]:
    choice = _choice(_parsed(event))
    if choice is None:
        return "", None
    delta = choice.get("delta")
    return _content(delta if isinstance(delta, dict) else {}), _reason(choice)


def _whole(body: str) -> tuple[str, str | None]:
    if not body.strip():
        raise AnswerError("the answer is empty")
    choice = _choice(_parsed(body))
    message = None if choice is None else choice.get("message")
    if choice is None or not isinstance(message, dict):
        raise AnswerError("the answer is JSON of another form")
    return _content(message), _reason(choice)


def _parsed(text: str) -> dict[str, object]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "HTML" if text.lstrip()[:1] == "<" else "no JSON"
        raise AnswerError(f"the answer is {kind}") from error
    if not isinstance(told, dict):
        raise AnswerError("the answer is JSON of another form")
    if told.get("error"):
        raise AnswerError("the service reports an error in its answer")
    return told


def _choice(told: dict[str, object]) -> dict[str, object] | None:
    """The first one; None in an event without any, such as one that counts tokens."""
    choices = told.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return None


def _content(message: dict[str, object]) -> str:
    content = message.get("content")
    if isinstance(content, list):  # parts, as newer servers send them
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _reason(choice: dict[str, object]) -> str | None:
    reason = choice.get("finish_reason")
    return reason if isinstance(reason, str) and reason else None


class _Thoughts:
    """Takes out what a model thinks aloud between `<think>` tags, and blank space before the answer."""

    def __init__(self) -> None:
        self._held = ""
        self._is_thinking = False
        self._has_begun = False  # the answer itself

    def feed(self, text: str) -> str:
        if self._has_begun:
            return text
        self._held += text
        if self._is_thinking:
            return self._after_thought()
        start = self._held.lstrip()
        if any(tag.startswith(start.casefold()) for tag in _TAGS):
            return ""  # too little to tell
        if _THINKING.match(start):
            self._is_thinking = True
            return self._after_thought()
        self._has_begun = True
        held, self._held = start, ""
        return held

    def _after_thought(self) -> str:
        end = _THOUGHT.search(self._held)
        if end is None:
            self._held = self._held[-_LONGEST_TAG:]
            return ""
        self._is_thinking = False
        rest, self._held = self._held[end.end() :], ""
        return self.feed(rest)

    def rest(self) -> str:
        """What was held back for a tag that never came; thoughts without an end are no answer."""
        return "" if self._is_thinking else self._held
