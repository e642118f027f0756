"""User and password side by side, with one word for both or with none."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.names import Slot
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.prose import BLANKS, is_strong, is_unspoken
from ingest.scrub.shapes import INNER_SIGNS, looks_chosen
from ingest.scrub.slots import is_credential, is_nested
from ingest.scrub.values import Value, read_value, whole

LOGINS: Final = (
    r"creds?|credentials?|logins?|log-in|account|user(?:name)?(?:[ /]{1,3}(?:and|und|a|y|et)?[ ]?pass(?:word)?)?|přihlašovací údaje|přihlášení|přístup[y]?|údaje|login údaje|zugangsdaten|zugang|anmeldedaten|benutzer|"
    r"acceso|credenciales|accès|identifiants?|wi-?fi|wlan|accesso|credenziali|acesso|credenciais|dane logowania|dostęp|inloggning|inloggegevens|доступ[ы]?|логин|учётка|учетка|uživatel|usuario|access"
)


def pair(match: re.Match[str], text: str) -> Spans:
    value = read_value(text, match.end())
    if (
        not value
        or is_nested(value.text)
        or (value.quoted and not looks_chosen(value.text))
        or is_placeholder(value.text)
    ):
        return NOTHING
    good = (
        looks_chosen(value.text, 5)
        and (is_strong(value.text) or not match[0].rstrip().endswith(","))
        and (is_unspoken(value.text) or not re.fullmatch(r"[\w.\-]+\.[a-z]{2,6}|\d+[\w:.]*", value.text))
        and "/" not in value.text
        and is_credential(Slot.PASSWORD, value, name="", sign="is")
    )
    return (whole(value, text, Slot.PASSWORD),) if good else NOTHING


def known_user(match: re.Match[str], text: str) -> Spans:
    """`root / X`: a user that every system has, and after it nothing but a value that was chosen."""
    if match.start() and (text[match.start() - 1].isalnum() or text[match.start() - 1] in "/.:@-=_"):
        return NOTHING
    return strong_value(match.end(), text, is_sure=match[0][-1] != "/")


def strong_value(at: int, text: str, *, is_sure: bool = True) -> Spans:
    """After a slash without blanks a file or a group would follow as well: not sure."""
    value = read_value(text, at)
    if value and (host := HOST_AFTER.search(value.text)):
        value = Value(
            value.text[: host.start()], value.start, value.start + host.start(), value.quoted, text, value.close
        )
    if not value or is_nested(value.text) or "/" in value.text:
        return NOTHING
    is_signed = not INNER_SIGNS.isdisjoint(value.text[:-1])
    if not is_unspoken(value.text) and not (is_strong(value.text) and (is_sure or is_signed)):
        return NOTHING
    if re.fullmatch(r"[\w.\-]+\.[A-Za-z]{1,6}", value.text) or not is_credential(
        Slot.PASSWORD, value, name="", sign="is"
    ):
        return NOTHING
    return (whole(value, text, Slot.PASSWORD),)


HOST_AFTER: Final = re.compile(
    r"(?<=.{6})@(?:(?:[A-Za-z0-9\-]{1,63}\.){1,5}[A-Za-z][A-Za-z0-9]{1,24}|(?:\d{1,3}\.){3}\d{1,3}|localhost)(?::\d{1,5})?$"
)
ADDRESSED: Final = re.compile(r"(?<![\w.\-])[\w.\-]{1,40}@[\w.\-]{2,80}$")
SHORT_USER: Final = re.compile(r"(?<![a-z0-9])u(?:ser)?[:=][ ]?[^\s,;]{1,40}[,;]?$")


def addressed(match: re.Match[str], text: str) -> Spans | None:
    at = match.start()
    return strong_value(match.end(), text) if ADDRESSED.search(text, max(0, at - 122), at) else None


def short_names(match: re.Match[str], text: str) -> Spans | None:
    low = match.string
    if not SHORT_USER.search(low, max(0, match.start() - 50), match.start()):
        return None
    value = read_value(text, match.end())
    good = value and looks_chosen(value.text, 6) and is_credential(Slot.PASSWORD, value, name="", sign="is")
    return (whole(value, text, Slot.PASSWORD),) if value and good else NOTHING


CHAP_HEAD: Final = re.compile(
    r"(?:^|\n)[ \t>#*\-]{0,8}(?:\"[^\s\"]{1,60}\"|[^\s\"#]{1,60})[ \t]{1,20}(?:\*|[\w.\-]{1,40})[ \t]{1,20}$"
)


def chap(match: re.Match[str], text: str) -> Spans | None:
    if not CHAP_HEAD.search(text, max(0, match.start() - 160), match.start()):
        return None
    return NOTHING if is_placeholder(match["s"], quoted=True) else (match.span("s"),)


def plain(match: re.Match[str], text: str) -> Spans:
    return NOTHING if is_placeholder(match["s"], quoted=True) else (match.span("s"),)


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="user-and-password",
        kind="password",
        why="`creds: admin/X`, `login: jana / X`: two values behind one word.",
        pattern=re.compile(
            rf"(?<![a-z0-9_\-/.@])(?:{LOGINS})(?:{BLANKS}[^\s:=]{{1,20}}){{0,4}}?[ \t]?(?:[:=：]|->|→|is|are|je|jsou)(?:{BLANKS})?[\"'`*]{{0,2}}[\w.+@\-]{{1,40}}[\"'`*]{{0,2}}[ \t]?[/:|,][ \t]?(?=[^\s\-]\S{{4}})"
        ),
        gate=gate(
            "cred login log-in account user přihlašovací přihlášení přístup údaje zugang anmeldedaten benutzer acceso accès identifiant wifi wi-fi wlan acesso dostęp inlogg доступ логин учётка "
            "учетка uživatel usuario access",
            "dane logowania",
        ),
        is_anchored=True,
        is_nested=True,
        finds=(
            "creds: admin/⟦{chosen}⟧",
            "login: jana / ⟦{chosen}⟧",
            "přihlašovací údaje: admin / ⟦{chosen}⟧",
            "Zugangsdaten: admin:⟦{chosen}⟧",
        ),
        leaves=(
            "login: everyone with an account",
            "credentials: see the runbook",
            "account: team/app2",
            "credentials: 'same-origin'",
            "login: use your university account",
        ),
        worst="login: a",
        validate=pair,
        is_folded=True,
    ),
    Rule(
        name="known-user-and-password",
        kind="password",
        why="`root / X`, `admin:X`, `login jana / X`: no key word at all.",
        pattern=re.compile(
            r"(?:(?:root|admin|administrator)(?:[ ]/[ ]|/(?=[^\s/]{8,64}(?:\s|$))|:(?=[^\s:/0-9])|@[\w.\-]{2,60}[ ]?[:/][ ])|(?:postgres|sysadmin|superuser|ubuntu|guest)[ ]/[ ]|(?:login|user|account)[ ][\w.@\-]{1,40}[ ]/[ ])(?=\S{7})"
        ),
        gate=gate(
            "root: admin: administrator: root/ admin/ administrator/ root@ admin@ administrator@",
            *(f"{user} / " for user in "root admin administrator postgres sysadmin superuser ubuntu guest".split()),
            "login ",
            "user ",
            "account ",
        ),
        finds=(
            "root / ⟦{chosen}⟧",
            "web1 (10.0.0.1) root/⟦A{lower:6}!{digits:4}⟧",
            "root@web1: ⟦{signs:16}1a⟧",
            "admin:⟦{chosen}⟧",
            "login jana / ⟦{chosen}⟧",
        ),
        leaves=(
            "root@web1:~# ls -la",
            "chown root/wheel-2026 a",
            "root@db-prod-2: connection refused",
            "root:x:0:0:root:/root:/bin/bash",
            "admin/dashboard2.html",
            "login jana / see the handbook",
            "admin:2FA is on",
        ),
        worst="admin:",
        validate=known_user,
        is_anchored=True,
        is_folded=True,
    ),
    Rule(
        name="address-and-password",
        kind="password",
        why="`ssh root@10.0.0.5 / X`: whom and where, and after a slash how.",
        pattern=re.compile(r"[ ]/[ ](?=\S{7})"),
        gate=gate("", " / ", also=("@",)),
        finds=("ssh root@10.0.0.5 / ⟦{signs:16}1⟧",),
        leaves=("jana@example.org / petr2@example.org", "anna@example.org / Room B-204", "root@web / # ls -la"),
        worst="a@b / ",
        validate=addressed,
        is_anchored=True,
    ),
    Rule(
        name="short-names",
        kind="password",
        why="`u: admin p: X`: names of one letter, which count as a pair alone.",
        pattern=re.compile(r"[ ](?:p|pw)[:=][ ]?(?=\S{6})"),
        gate=gate("", " p:", " p=", " pw:", " pw="),
        finds=("u: admin p: ⟦{chosen}⟧", "u=admin, p=⟦{chosen}⟧"),
        leaves=("u: 12 p: 34567890", "menu: file p: 3 of 4444444"),
        worst="u: a p: ",
        validate=short_names,
        is_anchored=True,
        is_folded=True,
    ),
    Rule(
        name="plain-scheme",
        kind="password",
        why="`jana:{PLAIN}X`: files of Dovecot and LDAP say of a password that it is not hashed.",
        pattern=re.compile(r"\{(?:plain(?:-trunc)?|clear(?:text)?)\}(?P<s>[^\s:\"'`<>‹›]{4,128}+)", re.I),
        gate=gate("{plain {clear"),
        is_anchored=True,
        finds=("jana:{PLAIN}⟦{chosen}⟧:1000:1000::/home/jana", "userPassword: {CLEARTEXT}⟦{alnum:12}⟧"),
        leaves=("jana:{PLAIN}password", "{PLAIN} is no hash", "jana:{SHA512-CRYPT}$6$aa$bb"),
        worst="{plain}",
        validate=plain,
    ),
    Rule(
        name="chap-secrets",
        kind="password",
        why='`jana l2tpd "X" *`: client, server, secret and addresses, a line of pppd.',
        pattern=re.compile(
            r"\"(?P<s>[^\s\"‹›]{4,128}+)\"[ \t]{1,20}(?:\*|\d{1,3}(?:\.\d{1,3}){3})[ \t\r]{0,8}(?=\n|$)"
        ),
        gate=gate("", '" *', '"\t*', '" 1', '"\t1'),
        finds=('"jana" l2tpd "⟦{alnum:14}⟧" *', 'jana * "⟦{chosen}⟧" 10.8.0.7\n'),
        leaves=('"jana" l2tpd "password" *', 'print("a" * 2)', 'cron "daily" *', 'x "jana" 10.0.0.1'),
        worst='"aaaa" *',
        validate=chap,
    ),
)
