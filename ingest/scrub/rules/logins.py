"""User and password side by side, with one word for both or with none."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.names import Slot
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.prose import BLANKS, is_strong
from ingest.scrub.shapes import looks_chosen
from ingest.scrub.slots import is_credential, is_nested, read_value, whole

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
        and not re.fullmatch(r"[\w.\-]+\.[a-z]{2,6}|\d+[\w:.]*", value.text)
        and "/" not in value.text
        and is_credential(Slot.PASSWORD, value, name="", sign="is")
    )
    return (whole(value, text, Slot.PASSWORD),) if good else NOTHING


def known_user(match: re.Match[str], text: str) -> Spans:
    """`root / X`: a user that every system has, and after it nothing but a value that was chosen."""
    if match.start() and (text[match.start() - 1].isalnum() or text[match.start() - 1] in "/.:@-=_"):
        return NOTHING
    value = read_value(text, match.end())
    if not value or is_nested(value.text) or "/" in value.text or not is_strong(value.text):
        return NOTHING
    if re.fullmatch(r"[\w.\-]+\.[A-Za-z]{1,6}", value.text) or not is_credential(
        Slot.PASSWORD, value, name="", sign="is"
    ):
        return NOTHING
    return (whole(value, text, Slot.PASSWORD),)


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
            r"(?:(?:root|admin|administrator)(?:[ ]/[ ]|:(?=[^\s:/0-9]))|(?:postgres|sysadmin|superuser|ubuntu|guest)[ ]/[ ]|(?:login|user|account)[ ][\w.@\-]{1,40}[ ]/[ ])(?=\S{7})"
        ),
        gate=gate(
            "root: admin: administrator:",
            *(f"{user} / " for user in "root admin administrator postgres sysadmin superuser ubuntu guest".split()),
            "login ",
            "user ",
            "account ",
        ),
        finds=("root / ⟦{chosen}⟧", "admin:⟦{chosen}⟧", "login jana / ⟦{chosen}⟧"),
        leaves=(
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
)
