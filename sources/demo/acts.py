"""The demo from its first line to its last: what is done in which order, and whether all of it held."""

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from index.errors import MatrixError
from sources.cli.exits import Exit
from sources.config.load import load
from sources.config.units import DAY_MS
from sources.credentials import Credentials
from sources.demo.community import Community, play
from sources.demo.homeserver import Homeserver, http_on_loopback
from sources.demo.people import Json
from sources.demo.place import Place, prepare
from sources.demo.programs import BotService, run
from sources.demo.proof import prove
from sources.demo.scenario import (
    ASKED,
    CLAIMS,
    PEOPLE,
    PUPPET,
    ROOMS,
    SERVER,
    SHELL,
    SHELL_WITHOUT_CHAT,
    WITHDRAWN,
    Asked,
    Room,
    Shown,
)
from sources.demo.show import Show

_REFRESH_S: Final = 10.0
_ROOM_AGE_MS: Final = 8 * DAY_MS
_OPEN: Final = "general"
_PLAYED_BY: Final = "mira"


class Demo(Struct):
    """`is_quick` takes hashed words for vectors; `keeps` stays until it is interrupted."""

    place: Place
    show: Show
    is_quick: bool = False
    keeps: bool = False
    _failed: bool = False

    def perform(self) -> Exit:
        """The exit code: not fine unless every command and every claim came out as it should."""
        with ExitStack() as opened:
            community = self._community(opened)
            self.show.act("The configuration")
            prepare(self.place, community, is_quick=self.is_quick)
            self.show.file(self.place.config_file.read_text(encoding="utf-8"))
            self._refreshed()
            if community is None:
                self._shell(SHELL_WITHOUT_CHAT)
                self._failed = True  # what was not shown was not proven
            else:
                self._with_chat(community, opened)
            if self.keeps:
                self._stay(community)
        return Exit.SOURCE_FAILED if self._failed else Exit.FINE

    def _community(self, opened: ExitStack) -> Community | None:
        """None, after a line that says why, where no homeserver can be had."""
        self.show.act("A community on a throw-away homeserver")
        try:
            if find_spec("synapse") is None:
                raise MatrixError("matrix-synapse is not installed (make demo does it)")
            namespace = "|".join((*PEOPLE, PUPPET))
            homeserver = Homeserver(
                self.place.homeserver, server_name=SERVER, speaks_for=[f"@({namespace})"], room_age_ms=_ROOM_AGE_MS
            )
            opened.enter_context(homeserver)
        except MatrixError as error:
            self.show.say(f"There will be no rooms and no bot: {error}", "yellow")
            return None
        community = play(homeserver, opened.enter_context(http_on_loopback(timeout_s=60, base_url=homeserver.url)))
        for room in ROOMS:
            self._tell(room, community)
        self.show.say("\nThe words of no language were made up just now and stand nowhere else.", "dim")
        return community

    def _tell(self, room: Room, community: Community) -> None:
        self.show.room(f"#{room.key}" if room.name else "(no name)", room.shows)
        for message in community.messages:
            if message.room != room.key:
                continue
            when = time.strftime("%d %b %H:%M", time.gmtime(message.at_ms / 1000))
            token = "{token}" in message.said.text
            text = message.text.replace(message.word, f"{message.word[:8]}…") if token else message.text
            word = f"{message.word[:8]}…" if token else message.word
            who = PEOPLE.get(message.said.who, message.said.who)
            self.show.said(when, who, f"‹encrypted› {text}" if room.is_encrypted else text, word=word)
            if message.said.edit:
                self.show.said(when, f"{who}, edited", message.said.edit)

    def _refreshed(self) -> None:
        self.show.act("A refresh reads all sources")
        self._command(Shown("", ("refresh",)))

    def _command(self, shown: Shown, *, fine: Sequence[int] = (Exit.FINE,)) -> None:
        self.show.command(shown.shows, shown.arguments)
        code = run(self.place, shown.arguments)
        if code not in fine:
            self._fault(f"this command ended with {code}")

    def _fault(self, problem: str) -> None:
        self._failed = True
        self.show.say(f"sources: demo: {problem}", "bold red")

    def _shell(self, shown: Sequence[Shown]) -> None:
        self.show.act("Asked in a shell")
        for one in shown:
            self._command(one)
        self._command(Shown("what is indexed, and what it lacks", ("status",)))

    def _with_chat(self, community: Community, opened: ExitStack) -> None:
        self._command(Shown("which rooms were read, and why the others were not", ("rooms",)))
        self._shell(SHELL)
        self.show.act("The bot, asked in rooms")
        community.watch = opened.enter_context(BotService(self.place)).check
        for asked in ASKED:
            self._ask(community, asked)
        self._withdraw(community)
        self._prove(community)

    def _ask(self, community: Community, asked: Asked) -> Json:
        """Returns the answer, an event."""
        self.show.room(f"#{asked.room}", asked.shows)
        self.show.said("now", PEOPLE[asked.who], asked.text)
        answer, seconds = community.ask(asked.who, asked.room, asked.text)
        self.show.answer(answer["content"], seconds)
        return answer

    def _withdraw(self, community: Community) -> None:
        """Something is quoted, then deleted: the answer goes at once, the text with the next refresh."""
        message = community.marked("redacted")
        self.show.act("Something is taken back")
        answer = self._ask(community, WITHDRAWN)
        if message.word not in str(answer["content"]):
            self._fault("the answer does not quote the message that is deleted next")
            return
        community.people[message.said.who].redact(community.rooms[message.room], message.event)
        self.show.say(f"{PEOPLE[message.said.who]} deletes the message that is quoted there …")
        seconds = community.wait_until_gone(WITHDRAWN.who, WITHDRAWN.room, str(answer["event_id"]))
        self.show.say(
            f"… and {seconds:.1f} s later the bot has taken its answer back. The next refresh erases the text:"
        )
        self._command(Shown("", ("refresh",)))

    def _prove(self, community: Community) -> None:
        self.show.act("What is not found, and why")
        self.show.say(
            "Each word is looked for in every byte that the program keeps, searched for in the shell by the host, and "
            "asked for in #ops (or #general) by somebody who is there.",
        )
        credentials = Credentials(self.place.credentials)
        findings = prove(load(self.place.config_file), credentials, community, CLAIMS)
        self.show.findings(findings)
        if wrong := [one.claim.what for one in findings if not one.holds]:
            self._fault(f"not as claimed: {', '.join(wrong)}")

    def _stay(self, community: Community | None) -> None:
        """Until it is interrupted; what is said meanwhile is indexed every few seconds."""
        self.show.act("Kept until Ctrl-C")
        self.show.say(f"in a shell       {_called()} --config {self.place.config_file} search …")
        if community is not None:
            account = community.accounts[_PLAYED_BY]
            self.show.say("in any Matrix client:")
            self.show.say(f"  homeserver     {community.homeserver.url}")
            self.show.say(f"  user           {account.user}")
            self.show.say(f"  password       {account.password}")
            self.show.say(f"  room           {community.alias(_OPEN)}   then say: !search help")
            self.show.say(f"A refresh runs every {_REFRESH_S:.0f} seconds: what you say can be found soon after.")
        try:
            while True:
                time.sleep(_REFRESH_S)
                if community is not None:
                    community.watch()
                run(self.place, ("--quiet", "refresh"))
        except KeyboardInterrupt:
            self.show.say("")


def _called() -> str:
    """The program as somebody in another folder can call it: a checkout's is on no search path."""
    called = Path(sys.argv[0])
    return str(called.absolute()) if called.name == "sources" else "sources"
