"""Addresses that are credentials themselves: webhooks, private feeds, reset and invitation links."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.shapes import HEX, UUID, is_random, is_wordy


def hook(match: re.Match[str], text: str) -> Spans:
    value = match["s"]
    if is_placeholder(value, quoted=True):
        return NOTHING
    if UUID.fullmatch(value) or (HEX.fullmatch(value) and len(value) >= 20) or is_random(value, 16):
        return (match.span("s"),)
    letters_only = value.isalnum() and len(value) >= 24 and not is_wordy(value) and len(set(value)) > 10
    return (match.span("s"),) if letters_only else NOTHING


def service_hook(match: re.Match[str], text: str) -> Spans:
    """Beside the name of a service a shorter one will do."""
    value = match["s"]
    return (match.span("s"),) if is_random(value, 10) and not is_placeholder(value, quoted=True) else hook(match, text)


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="webhook-service",
        kind="webhook",
        why="Whoever has the address of an incoming webhook can post with it; the secret is in the path.",
        pattern=re.compile(
            r"(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?:[A-Z][A-Z0-9]{5,15}/){1,2}(?:[A-Z0-9]{6,22}/){0,2}|"
            r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{10,22}/|hooks\.zapier\.com/hooks/catch/\d{3,12}/(?:v\d/)?|maker\.ifttt\.com/(?:trigger/[^/\s]{1,60}/(?:json/)?with/key|use)/|"
            r"\.office(?:365)?\.com/webhookb?2?/[0-9a-f\-]{36}@[0-9a-f\-]{36}/(?:IncomingWebhook|[A-Za-z]{3,30})/|outlook\.office\.com/webhook/[0-9a-f\-]{36}@[0-9a-f\-]{36}/IncomingWebhook/|"
            r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|hook\.(?:[a-z]{2}\d\.)?(?:make\.com|integromat\.com)/|hc-ping\.com/|pipedream\.net/|"
            r"events\.pagerduty\.com/integration/|alert\.victorops\.com/integrations/[^\s/]{1,40}/[^\s/]{1,20}/alert/|api\.opsgenie\.com/v1/json/[a-z]{1,20}\?apiKey=|hooks\.nabu\.casa/|"
            r"chat\.googleapis\.com/v1/spaces/[A-Za-z0-9_\-]{5,20}/messages\?key=|api\.telegram\.org/(?:file/)?bot|hooks\.airtable\.com/workflows/v1/genericWebhook/[A-Za-z0-9]{10,20}/[A-Za-z0-9]{10,20}/|"
            r"webhook\.site/|ntfy\.sh/(?=[A-Za-z0-9_\-]{24})|requestbin\.[a-z]{2,5}/|api\.render\.com/deploy/srv-[a-z0-9]{10,30}\?key=|"
            r"deadmanssnitch\.com/|nosnch\.in/|betteruptime\.com/api/v1/heartbeat/|uptime\.betterstack\.com/api/v1/heartbeat/|cronitor\.link/p/)"
            r"(?P<s>[A-Za-z0-9_\-:]{8,}+(?:/[A-Za-z0-9_\-]{12,}+){0,3}+)(?!/[‹<])"
        ),
        gate=gate(
            "hooks.slack discord.com/api/ discordapp.com/api/ hooks.zapier.com/ maker.ifttt.com/ .office.com/webhook .office365.com/webhook outlook.office.com/webhook open.feishu. open.larksuite. "
            "hook. hc-ping.com/ pipedream.net/ events.pagerduty.com/ alert.victorops.com/ api.opsgenie.com/ hooks.nabu.casa/ chat.googleapis.com/ api.telegram.org/ hooks.airtable.com/ webhook.site/ "
            "ntfy.sh/ requestbin. api.render.com/ deadmanssnitch.com/ nosnch.in/ betteruptime.com/ uptime.betterstack.com/ cronitor.link/"
        ),
        is_anchored=True,
        is_nested=True,
        finds=(
            "post to https://hooks.slack.com/services/T{upper:10}/B{upper:10}/⟦{alnum:24}⟧",
            "`https://discordapp.com/api/webhooks/{digits:19}/⟦{url64:68}⟧` posts",
            "https://hooks.zapier.com/hooks/catch/{digits:7}/⟦{lower:12}7a⟧/",
            "https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/⟦{hex:32}/{uuid}⟧",
            "https://api.telegram.org/bot⟦{digits:10}:AA{url64:33}⟧/getMe",
        ),
        leaves=(
            "https://hooks.slack.com/services/...",
            "https://discord.com/api/webhooks/<id>/<token>",
            "see https://webhook.site/docs",
        ),
        worst="hooks.slack.com/services/TAAAAAA/",
        validate=service_hook,
    ),
    Rule(
        name="webhook-path",
        kind="webhook",
        why="Self-hosted hooks: Mattermost, Rocket.Chat, hookshot, n8n, Home Assistant, Gitea, Jenkins-like builds.",
        pattern=re.compile(
            r"/(?:(?:in(?:coming|bound)?[_\-]?)?(?:web)?hooks?(?:-test|-in|s)?|webhookb?2?|trigger|triggers|push|heartbeat|ping|deploy-?hook)/(?:[a-z0-9]{1,3}/)?(?:[A-Za-z0-9]{8,20}/)?(?P<s>[A-Za-z0-9_\-]{16,}+)(?!@|/[<‹]|[A-Za-z0-9_\-.]{0,40}\.(?:md|html?|png|jpg|svg|go|py|js|ts|php)\b)"
        ),
        gate=gate(
            "/hook /webhook /incoming /inbound /in_ /in- /inhook /inweb /trigger /push/ /ping/ /heartbeat/ /deploy"
        ),
        is_anchored=True,
        is_nested=True,
        finds=(
            "https://chat.example.org/hooks/⟦{lower:26}⟧",
            "curl https://n8n.example.org/webhook/⟦{uuid}⟧",
            "(https://hookshot.example.org/webhook/⟦{alnum:32}⟧)",
        ),
        leaves=(
            "POST /webhook/{id}",
            "https://example.org/webhooks",
            "https://docs.example.org/hooks/incoming-webhooks-for-teams",
            "/hooks/pre-receive-hook-2",
        ),
        is_closed=False,
        worst="/hooks/aaaaaaaa/",
        validate=hook,
    ),
    Rule(
        name="push-monitor",
        kind="webhook",
        why="Monitors of Uptime Kuma that wait for a sign of life.",
        pattern=re.compile(r"/api/push/(?P<s>[A-Za-z0-9]{10,32}+)(?![A-Za-z0-9/_.\-])"),
        gate=gate("/api/push/"),
        finds=("https://status.example.org/api/push/⟦{alnum:9}7⟧?status=up",),
        leaves=("POST /api/push/notification", "/api/push/{token}"),
        worst="/api/push/",
        validate=service_hook,
        is_anchored=True,
    ),
    Rule(
        name="secret-path",
        kind="secret-url",
        why="Private calendar feeds, shared reset, invitation and magic links: the path is the credential.",
        pattern=re.compile(
            r"/(?:private-(?=[0-9a-f]{20})|(?:reset[_\-]?password|password[_\-]?reset|password/reset|reset|magic[_\-]?link|magic|login[_\-]?link|one[_\-]?time(?:[_\-]?login)?|user/reset/\d{1,9}/\d{9,11}|"
            r"unsubscribe_never|confirm[_\-]?email|verify[_\-]?email|activate|activation|accept[_\-]?invite|invitations?|ical|feeds?/private|calendars?/private|rss/private|secret|token|api[_\-]?key)/)(?P<s>[A-Za-z0-9_\-]{20,}+(?:\.[A-Za-z0-9_\-]{20,}+)*)"
        ),
        gate=gate(
            "/private- /reset /password /magic /login_link/ /login-link/ /loginlink/ /one_time /one-time /onetime /user/reset/ /unsubscribe_never/ /confirm /verify /activat /accept /invitation "
            "/ical/ /feed/private/ /feeds/private/ /calendar/private/ /calendars/private/ /rss/private/ /secret/ /token/ /api_key/ /api-key/ /apikey/"
        ),
        is_anchored=True,
        is_nested=True,
        finds=(
            "https://calendar.example.org/ical/a%40b.org/private-⟦{hex:32}⟧/basic.ics",
            "https://example.org/password/reset/⟦{alnum:40}⟧",
        ),
        leaves=(
            "https://example.org/reset/how-to-reset-your-own-password",
            "https://example.org/token/documentation-of-all-of-them",
        ),
        worst="/reset/",
        validate=hook,
    ),
)
