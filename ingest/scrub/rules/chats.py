"""Tokens of chat and social services."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.shape import START, drawn, not_placeholder, token
from ingest.scrub.shapes import is_random, looks_chosen

DISCORD_HEAD: Final = re.compile(START + r"[MNO][A-Za-z0-9_\-]{22,28}$")
BOT_ID: Final = re.compile(r"(?<![0-9])[0-9]{7,11}$")


def discord(match: re.Match[str], text: str) -> Spans | None:
    head = DISCORD_HEAD.search(text, max(0, match.start() - 29), match.start())
    if not head:
        return None
    is_dummy = is_placeholder(text[head.start() : match.end()], quoted=True) or is_placeholder(
        match[0][8:], quoted=True
    )
    return NOTHING if is_dummy else ((head.start(), match.end()),)


def bot_token(match: re.Match[str], text: str) -> Spans:
    bot = BOT_ID.search(text, max(0, match.start() - 12), match.start())
    value = match[0][1:]
    if not bot or not is_random(value, 30) or is_placeholder(value, quoted=True):
        return NOTHING
    return ((bot.start(), match.end()),)


WEBEX_HEAD: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{40,80}$")
FIREBASE_HEAD: Final = re.compile(r"(?<![A-Za-z0-9_\-])AAAA[A-Za-z0-9_\-]{7}$")
ABLY_ID: Final = re.compile(r"(?<![\w.\-/:@!#$])[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{6}$")
GHOST_ID: Final = re.compile(r"(?<![0-9A-Za-z:])[0-9a-f]{24}$")
LONGEST_HEAD: Final = 84


def marked_inside(match: re.Match[str], text: str) -> Spans | None:
    pattern = WEBEX_HEAD if match[0][0] == "_" else FIREBASE_HEAD
    head = pattern.search(text, max(0, match.start() - LONGEST_HEAD), match.start())
    return ((head.start(), match.end()),) if head else None


def with_id(match: re.Match[str], text: str) -> Spans | None:
    value = match[0][1:]
    pattern = GHOST_ID if len(value) == 64 else ABLY_ID
    head = pattern.search(text, max(0, match.start() - LONGEST_HEAD), match.start())
    if not head:
        return None
    good = is_random(value, 40) and is_random(head[0].replace(".", ""), 12)
    return ((head.start(), match.end()),) if good else NOTHING


TYPED: Final = r"[^\s\"'`<>‹›]{4,128}"
LINE_END: Final = r"[ \t\r`\"']{0,8}(?:\n|$)"
AT_END: Final = re.compile(rf"(?:[ ][\w.+\-]{{1,60}}@[\w.\-]{{1,60}})?{LINE_END}")
"""An address of mail may follow: NickServ asks for it."""


def irc(match: re.Match[str], text: str) -> Spans:
    """Whatever ends the line; what is followed by more words has to look like a password."""
    start, end = match.span("s")
    value = text[start:end]
    is_last = AT_END.match(text, end) is not None
    looks_so = looks_chosen(value) or is_random(value, 12)
    good = (is_last and looks_so) if match[0].startswith("/oper") else (is_last or looks_so)
    return ((start, end),) if good and not is_placeholder(value, quoted=True) else NOTHING


RULES: Final[tuple[Rule, ...]] = (
    token(
        "slack-token",
        "Bot, user, app, workflow, refresh and legacy tokens of Slack.",
        r"(?:xox[a-z](?:\.xox[a-z])?|xapp|xwfp)-(?P<b>[A-Za-z0-9\-_%+/=]{16,}+)",
        gate("xox xapp- xwfp-"),
        (
            "SLACK=⟦xoxb-{digits:12}-{digits:13}-{alnum:24}⟧",
            "x: '⟦xapp-1-A{upper:10}-{digits:13}-{hex:64}⟧'",
            "⟦xoxe.xoxp-1-{alnum:160}⟧",
        ),
        ("SLACK_BOT_TOKEN=xoxb-your-token-here", "re.compile(r'xox[a-z]-\\w+-\\w+')", "xoxo, Jana"),
        worst="xoxb-",
    ),
    token(
        "discord-user-token",
        "Older tokens of Discord accounts that have a second factor.",
        r"mfa\.(?P<b>[A-Za-z0-9_\-]{60,90}+)",
        gate("mfa."),
        ("⟦mfa.{url64:84}⟧ is mine",),
        ("enter the code of your mfa. Then go on",),
        worst="mfa.",
        kind="discord-bot-token",
        validate=not_placeholder,
    ),
    Rule(
        name="discord-bot-token",
        kind="discord-bot-token",
        why="The first part of a Discord token is the bot's id in base64, the last the key.",
        pattern=re.compile(r"\.[A-Za-z0-9_\-]{6,7}\.[A-Za-z0-9_\-]{27,45}+"),
        gate=gate("."),
        finds=("client.run('⟦MTIz{alnum:20}.{alnum:6}.{url64:38}⟧')",),
        leaves=("My.class.names", "NNNNNNNNNNNNNNNNNNNNNNNN.NNNNNN.NNNNNNNNNNNNNNNNNNNNNNNNNNN"),
        worst="M" + "a" * 24 + ".aaaaaa.",
        validate=discord,
    ),
    Rule(
        name="telegram-bot-token",
        kind="telegram-bot-token",
        why="Bot id, colon, 35 characters, the first of which is an A.",
        pattern=re.compile(r":A[A-Za-z0-9_\-]{32,38}+(?![A-Za-z0-9_])"),
        gate=gate(":a"),
        finds=("see <⟦{digits:10}:AA{url64:33}⟧>", "bot token ⟦{digits:10}:AA{url64:33}⟧"),
        leaves=("12345678:Abend", "port 12345678:A"),
        worst="1234567890:A",
        validate=bot_token,
        is_anchored=True,
    ),
    token(
        "facebook-token",
        "Access tokens of Facebook, Instagram, Threads and WhatsApp.",
        r"(?:EAA[A-Z]?|IG[A-Z]{2}|TH[A-Z]{2}|EAAC|GG\|\d{6,20}\|)(?P<b>[A-Za-z0-9]{60,}+)",
        gate("gg| eaa igq igaa thaa"),
        ("fb: ⟦EAAC{alnum:160}⟧",),
        ("EAA stands for experimental amateur aircraft",),
        worst="EAA",
    ),
    token(
        "social-token",
        "LinkedIn, Twitch OAuth, Mastodon-like, Notion, Linear, Airtable, Figma, Dropbox, Asana and other workplaces.",
        r"(?:WPL_AP\d\.|oauth:(?=[a-z0-9]{30})|secret_(?=[A-Za-z0-9]{43}\b)|ntn_|lin_(?:api|oauth|wh)_|pat(?=[A-Za-z0-9]{14}\.[a-f0-9]{64})|"
        r"key(?=[A-Za-z0-9]{14}\b(?=.{0}))|fig(?:d|o|oh|or|ur|u)_|sl\.(?:u\.)?|pk_\d{5,10}_|figma_|CFPAT-|shp(?:at|ca|pa|ss|ua)_|"
        r"atlas_|tly-|miro_|pat-(?:na|eu)\d-|zd_|ics_|trello_|ATTA|00D(?=[A-Za-z0-9]{12,15}!)|dG9r(?=Om|Zn|[A-Za-z0-9]{30}))(?P<b>[A-Za-z0-9_\-%.!+/=]{20,}+)",
        gate(
            "wpl_ap oauth: secret_ ntn_ lin_api_ lin_oauth_ lin_wh_ pat key figd_ figo_ figoh_ figor_ figur_ figu_ sl. pk_ cfpat- shpat_ shpca_ shppa_ shpss_ shpua_ "
            "miro_ trello_ tly- atta 00d dg9r"
        ),
        (
            "notion: ⟦ntn_{alnum:46}⟧",
            "LINEAR=⟦lin_api_{alnum:40}⟧",
            "shopify ⟦shpat_{hex:32}⟧",
            "⟦figd_{url64:40}⟧",
            "airtable ⟦pat{alnum:14}.{hex:64}⟧",
        ),
        (
            "ntn_ prefix",
            "secret_garden_chapter_02",
            "key takeaways: small batches, clear owners",
            "lin_api_client_generator_settings",
        ),
        worst="lin_api_",
        validate=drawn(20),
    ),
    token(
        "twitter-bearer-token",
        "Application tokens of Twitter/X begin with zeros in base64 and hold a percent escape.",
        r"A{17,23}(?=[A-Za-z0-9]{0,80}%[23][BDF])(?P<b>[A-Za-z0-9_\-%.!+/=]{20,}+)",
        gate("%2b %2d %2f %3b %3d %3f"),
        ("X_BEARER=⟦AAAAAAAAAAAAAAAAAAAAA{alnum:30}%2B{alnum:8}%3D{alnum:50}⟧",),
        ("A" * 40, "AAAAAAAAAAAAAAAAAAAAA%20"),
        worst="AAAAAAAAAAAAAAAAAAAAAAAA",
        first="A",
        kind="social-token",
        validate=drawn(20),
    ),
    token(
        "game-token",
        "Keys of Riot Games and cookies of Roblox, which ask not to be shared.",
        r"(?:RGAPI-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}|_\|WARNING:-DO-NOT-SHARE-THIS[A-Za-z0-9.\-]{0,140}\|_(?P<b>[A-F0-9]{60,}+))(?![A-Za-z0-9])",
        gate("rgapi- _|warning:-do-not-share"),
        ("⟦RGAPI-{uuid}⟧", "⟦_|WARNING:-DO-NOT-SHARE-THIS.--Sharing-this-will-allow-someone-to-log-in.|_{HEX:200}⟧"),
        ("RGAPI-... is how they begin", "WARNING: do not share this"),
        kind="game-token",
        worst="RGAPI-",
        validate=not_placeholder,
    ),
    Rule(
        name="token-with-mark-inside",
        kind="service-token",
        why="Webex and Firebase messaging: what marks them stands between two parts that were drawn.",
        pattern=re.compile(r"_P(?:F84|0A1)_[0-9a-f\-]{36}(?![0-9A-Za-z])|:APA91b[A-Za-z0-9_\-]{100,}+"),
        gate=gate("_pf84_ _p0a1_ :apa91b"),
        finds=("⟦{alnum:64}_PF84_{uuid}⟧", "fcm ⟦AAAA{url64:7}:APA91b{url64:134}⟧"),
        leaves=("_PF84_ stands in the middle", "the mark is :APA91b"),
        worst=":APA91b",
        validate=marked_inside,
        is_anchored=True,
    ),
    Rule(
        name="token-with-colon-inside",
        kind="service-token",
        why="Keys of Ably and of Ghost: an id, a colon, and a secret of a fixed length.",
        pattern=re.compile(r":(?:[A-Za-z0-9_\-]{43}(?![A-Za-z0-9_\-=])|[0-9a-f]{64}(?![0-9A-Za-z]))"),
        gate=gate(":"),
        finds=("⟦{alnum:6}.{alnum:6}:{url64:43}⟧", "ghost admin ⟦{hex:24}:{hex:64}⟧"),
        leaves=("sha256:{hex:64}", "ed25519:{url64:43}", "image: nginx@sha256:{hex:64}", "readme.mdfile:{url64:43}"),
        worst=":aaaaaaaaaa",
        validate=with_id,
    ),
    token(
        "asana-token",
        "Personal tokens of Asana: numbers of account and app, and 32 hex digits.",
        r"[12]/\d{10,20}(?:/\d{10,20})?:(?P<b>[a-f0-9]{32})(?![A-Za-z0-9])",
        gate("1/ 2/"),
        ("⟦2/{digits:16}/{digits:16}:{hex:32}⟧",),
        ("see 1/2026 and 2/2026", "1/1234567890:{hex:8}"),
        worst="1/1234567890",
    ),
    Rule(
        name="irc-login",
        kind="password",
        why="`/msg NickServ IDENTIFY X`, `/oper jana X`: what people type into the wrong window.",
        pattern=re.compile(
            rf"(?:(?:/(?:msg|m|query|quote|notice)[ ]nickserv(?:@[\w.\-]{{1,60}})?|/(?:nickserv|ns)|privmsg[ ]nickserv)[ ]:?"
            rf"(?:(?:identify|id|login|auth)[ ](?:\S{{1,30}}[ ](?={TYPED}{LINE_END}))?|(?:register|set[ ]pass(?:word)?)[ ]|(?:ghost|release|recover|regain)[ ]\S{{1,30}}[ ])"
            rf"|/oper[ ]\S{{1,30}}[ ])(?P<s>{TYPED}+)"
        ),
        gate=gate("nickserv /oper", "/ns "),
        is_folded=True,
        finds=(
            "/msg NickServ IDENTIFY ⟦{alnum:14}⟧",
            "/msg nickserv identify jana ⟦{chosen}⟧",
            "/ns register ⟦{alnum:12}⟧ jana@example.org",
            "/oper jana ⟦{alnum:12}⟧",
        ),
        leaves=(
            "/msg NickServ IDENTIFY <password>",
            "/msg NickServ IDENTIFY password",
            "identify with NickServ before you join",
            "/msg nickserv help identify",
            "/oper name password",
            "/oper jana please have a look",
            "/msg nickserv identify with your own password",
        ),
        worst="/ns id ",
        validate=irc,
    ),
)
