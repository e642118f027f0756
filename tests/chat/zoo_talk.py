"""Every form of message, edit and redaction, said in one room in three phases. See `tests/chat/test_room_zoo.py`."""

from dataclasses import dataclass, field
from typing import Any

from tests.chat.zoo import Kept, Words
from tests.matrix.people import Json, Person

FOUND, UNSEEN, NOWHERE = Kept.FOUND, Kept.UNSEEN, Kept.NOWHERE
CIPHER = {"algorithm": "m.megolm.v1.aes-sha2", "session_id": "s", "device_id": "d", "sender_key": "k"}


@dataclass(slots=True)
class Said:
    """A message, and the word in it."""

    event: str
    word: str


@dataclass(slots=True)
class Talk:
    """`mallory` owns nothing in the room, `puppet` can say when it spoke."""

    room: str
    label: str
    alice: Person
    mallory: Person
    puppet: Person
    now_ms: int
    words: Words
    _said: dict[str, Said] = field(default_factory=dict)

    async def before(self) -> None:
        await self._forms()
        await self._relations()
        await self._revisions()

    async def between(self) -> None:
        """More than a sync tells: what happens here to older messages happens inside of a gap."""
        await self._redact("to be redacted in a gap")
        await self._redact("edited, to be redacted in a gap", "edit of what is to be redacted in a gap")
        await self._redact("notice", kept=NOWHERE)
        await self._redact_edit("edit to be redacted in a gap", "original of the edit to be redacted in a gap")
        await self._edit("to be edited in a gap", "late edit, in a gap")
        await self._edit("to be edited twice", "edit, to be edited again")
        await self._forge("plain", "forged edit in a gap")
        await self._edit_redacted("redacted before", "edit in a gap, of what was redacted before")
        passing = await self._say("said and redacted in one gap", NOWHERE)
        await self.alice.redact(self.room, passing.event)
        await self._say("said and edited in one gap")
        await self._edit("said and edited in one gap", "edit in the gap of its original")
        await self._say("by mallory", by=self.mallory)
        await self._redact("by mallory")  # by alice, who may
        root = self._said["thread root"].event
        await self.alice.thread(self.room, root, self._new("thread, in a gap"))
        await self._say("said between, to be redacted at the end")
        for number in range(4):
            await self._say(f"at the end of the gap {number}")

    async def after(self) -> None:
        await self._redact("said between, to be redacted at the end")
        await self._edit("to be edited twice", "second edit, after the first was read")
        self.words.now(UNSEEN, self._said["edit, to be edited again"].word)
        await self._redact_edit("late edit, in a gap", "to be edited in a gap")
        await self._redact("thread root")
        await self._edit("beside a poll", "edit that came two runs late")
        await self._edit_redacted("to be redacted in a gap", "edit, two runs after the redaction")
        await self._edit_of_edit("second edit, after the first was read", "late edit of an edit")
        await self._forge("by puppet", "late forged edit")
        for number in range(4):
            await self._say(f"last {number}")

    # Forms

    async def _forms(self) -> None:
        send, new = self._send, self._new
        await self._say("plain")
        await send({"msgtype": "m.emote", "body": new("emote")})
        await self._say("notice", NOWHERE, msgtype="m.notice")
        await send({"msgtype": "m.image", "url": "mxc://x/y", "body": new("caption"), "filename": new("file name")})
        await send({"msgtype": "m.file", "url": "mxc://x/y", "body": new("file name without caption")})
        same = new("file name twice")
        await send({"msgtype": "m.video", "url": "mxc://x/y", "body": same, "filename": same})
        await send({"msgtype": "m.file", "file": {"url": "mxc://x/y"}, "body": new("file of encrypted media")})
        await send({"msgtype": "m.location", "geo_uri": "geo:0,0", "body": new("location")})
        await self._polls()
        array = [{"body": f"<b>{new('html beside plain text', NOWHERE)}</b>", "mimetype": "text/html"}]
        await send({"m.text": [*array, {"body": new("m.text array")}]}, "m.message")
        await send({"org.matrix.msc1767.text": new("unstable text")}, "m.message")
        await send(
            {"msgtype": "m.text", "body": new("body"), "m.text": [{"body": new("m.text beside a body", NOWHERE)}]}
        )
        covered = new("under a spoiler", NOWHERE)
        shown = new("beside a spoiler")
        await send(
            {
                "msgtype": "m.text",
                "body": f"{shown} {covered}",
                "format": "org.matrix.custom.html",
                "formatted_body": f"{shown} <span data-mx-spoiler>{covered}</span>",
            }
        )
        await send({"body": new("no msgtype")}, "m.message")
        await send({"msgtype": "org.example.own", "body": new("msgtype nobody knows")})
        await send({"msgtype": "m.text", "body": new("null format"), "format": None, "formatted_body": None})
        await send({"body": {"text": new("body that is no text", NOWHERE)}}, "m.message")
        await send({"msgtype": "m.text", "body": f"a\0{new('beside NUL')}\0b"})
        tail = new("at the end of 60 kB")
        await send({"msgtype": "m.text", "body": f"{new('at the start of 60 kB')} {'la ' * 19_500}{tail}"})
        await self.alice.react(self.room, self._said["plain"].event, new("reaction", NOWHERE))
        await send({"body": new("sticker", NOWHERE), "url": "mxc://x/y", "info": {}}, "m.sticker")
        await send({"msgtype": "m.key.verification.request", "body": new("verification", NOWHERE), "to": "@x:hs.test"})
        await send(CIPHER | {"ciphertext": new("encrypted", NOWHERE)}, "m.room.encrypted")
        await send({"body": new("type nobody knows", NOWHERE)}, "org.example.message")
        await self.alice.set_state(
            self.room, "m.room.message", {"msgtype": "m.text", "body": new("with a state key")}, "x"
        )

    async def _polls(self) -> None:
        stable = {
            "question": {"m.text": [{"body": self._new("poll question")}]},
            "answers": [{"m.id": "1", "m.text": [{"body": self._new("poll answer")}]}, None],
        }
        await self._send({"m.poll": stable, "m.text": [{"body": "poll"}]}, "m.poll.start")
        old = {
            "question": {"org.matrix.msc1767.text": self._new("msc3381 question"), "body": "q"},
            "answers": [{"id": "1", "org.matrix.msc1767.text": self._new("msc3381 answer")}],
        }
        await self._send({"org.matrix.msc3381.poll.start": old}, "org.matrix.msc3381.poll.start")
        await self._say("beside a poll")

    async def _relations(self) -> None:
        for odd in (None, 7, "x", ["x"], {"rel_type": 1, "event_id": []}, {"m.in_reply_to": 7}):
            await self._send({"msgtype": "m.text", "body": self._new(f"relation {odd}"), "m.relates_to": odd})
        plain = self._said["plain"].event
        quoted = self._new("reply fallback", NOWHERE)
        own = f"{self._new('reply')}\n> {self._new('own quote in a reply')}"
        await self.alice.reply(self.room, plain, f"> <{self.alice.user}> {quoted}\n\n{own}")
        await self.alice.reply(self.room, plain, f"> {self._new('quote that leads a reply')}\n\nindeed")
        root = await self._say("thread root")
        await self.alice.thread(self.room, root.event, self._new("in a thread"))

    # Revisions

    async def _revisions(self) -> None:
        await self._say("edited before")
        await self._edit("edited before", "edit before")
        await self._forge("edited before", "forged edit before")
        await self._edit_of_edit("edit before", "edit of an edit")
        await self._edits_out_of_order()
        await self._say("edited by a broken edit")
        await self._break_edit("edited by a broken edit")
        await self._say("original of a redacted edit")
        await self._edit("original of a redacted edit", "redacted edit")
        await self._redact_edit("redacted edit", "original of a redacted edit")
        await self._say("redacted before")
        await self._redact("redacted before")
        await self._edit_redacted("redacted before", "edit of what was redacted")
        await self._say("edited and redacted before")
        await self._edit("edited and redacted before", "edit of what is then redacted")
        await self._redact("edited and redacted before", "edit of what is then redacted")
        for kind in ("to be redacted in a gap", "to be edited in a gap", "to be edited twice"):
            await self._say(kind)
        await self._say("edited, to be redacted in a gap")
        await self._edit("edited, to be redacted in a gap", "edit of what is to be redacted in a gap")
        await self._say("original of the edit to be redacted in a gap")
        await self._edit("original of the edit to be redacted in a gap", "edit to be redacted in a gap")

    async def _edits_out_of_order(self) -> None:
        """The later one by its time comes first."""
        at, room = self.now_ms, self.room
        original = await self._say("by puppet, edited out of order", UNSEEN, by=self.puppet, ts=at)
        await self.puppet.edit(room, original.event, self._new("newest edit, came first"), ts=at + 2)
        await self.puppet.edit(room, original.event, self._new("older edit, came last", UNSEEN), ts=at + 1)
        await self._say("by puppet", by=self.puppet)

    async def _break_edit(self, kind: str) -> None:
        relation = {"rel_type": "m.replace", "event_id": self._said[kind].event}
        for content in ({}, {"m.new_content": None}, {"m.new_content": [self._new("broken edit", NOWHERE)]}):
            body = self._new("body of a broken edit", NOWHERE)
            await self._send({"msgtype": "m.text", "body": body, "m.relates_to": relation, **content})
        other = {"org.matrix.msc1767.text": self._new("edit of another type", NOWHERE)}
        await self._send({"m.new_content": other, "m.relates_to": relation}, "m.message")

    # What happens to messages. Each is known by its kind.

    def _new(self, kind: str, kept: Kept = FOUND) -> str:
        return self.words.new(f"{self.label}: {kind}", kept)

    async def _send(self, content: Any, kind: str = "m.room.message") -> str:
        return await self.alice.send(self.room, content, kind)

    async def _say(self, kind: str, kept: Kept = FOUND, *, by: Person | None = None, **more: Any) -> Said:
        word = self._new(kind, kept)
        said = Said(await (by or self.alice).say(self.room, word, **more), word)
        self._said[kind] = said
        return said

    async def _edit(self, target: str, kind: str) -> None:
        word = self._new(kind)
        self._said[kind] = Said(await self._replace(self.alice, self._said[target].event, word), word)
        self.words.now(UNSEEN, self._said[target].word)

    async def _replace(self, by: Person, target: str, word: str) -> str:
        content: Json = {
            "msgtype": "m.text",
            "body": f"* {self._new('body of an edit, meant for old clients', NOWHERE)}",
            "m.new_content": {"msgtype": "m.text", "body": word},
            "m.relates_to": {"rel_type": "m.replace", "event_id": target},
        }
        return await by.send(self.room, content)

    async def _forge(self, target: str, kind: str) -> None:
        await self._replace(self.mallory, self._said[target].event, self._new(kind, NOWHERE))

    async def _edit_of_edit(self, edit: str, kind: str) -> None:
        await self._replace(self.alice, self._said[edit].event, self._new(kind, NOWHERE))

    async def _edit_redacted(self, target: str, kind: str) -> None:
        await self._replace(self.alice, self._said[target].event, self._new(kind, NOWHERE))

    async def _redact(self, target: str, *edits: str, kept: Kept = NOWHERE) -> None:
        await self.alice.redact(self.room, self._said[target].event)
        self.words.now(kept, *(self._said[kind].word for kind in (target, *edits)))

    async def _redact_edit(self, edit: str, original: str) -> None:
        await self._redact(edit)
        self.words.now(FOUND, self._said[original].word)
