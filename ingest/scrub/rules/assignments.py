"""Names with values: .env, YAML, JSON, TOML, INI, XML, shell, code, tables, connection strings, calls.

A key word is found first; then the whole name around it is read and judged (`ingest.scrub.names`), the sign after it, and
the value (`ingest.scrub.slots`). Nothing is matched across lines, apart from a value on an indented line of its own.
"""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.keywords import KeyName
from ingest.scrub.model import NOTHING, NameRule, Spans
from ingest.scrub.names import Slot, slot_of
from ingest.scrub.shapes import is_random, looks_chosen
from ingest.scrub.slots import VARIABLE, is_credential
from ingest.scrub.values import Value, bare_value, read_value, whole

CLOSERS: Final = r"(?:\\{0,4}[\"'`]|[\])}”»“’*_]{1,3}(?=[\s=:\"'`|>]|$)|&(?:quot|\#34|\#39|\#x2[27]|apos);|</(?:b|strong|code|em|td|th|label|dt|span|key|name|kbd|p)>){0,3}+"
SIGN: Final = re.compile(
    rf"""
    (?:[ ]?[#№]?\d{{1,3}}(?=[ \t]{{0,3}}[:=|]))?(?P<close>{CLOSERS})[ \t\u00a0]{{0,40}}+
    (?:
      (?P<annotated>:[ \t]{{0,4}}(?:[a-z_][\w.]{{0,24}}+(?:\[[\w., |]{{0,30}}\]|<[\w., ]{{0,30}}>)?(?:[ ]?\|[ ]?\w{{1,12}}){{0,2}}|&'?\w{{0,8}}[ ]?str)(?:[ \t]{{1,4}}=(?![=>~])|=(?=["'`])))
    | (?P<equal>(?::=|\?=|\+=|<-|=>|==>|-?->|=(?![=>~])|%3d|[→⇒⟶＝])(?:[ \t]{{0,4}}\\?\r?\n)?)
    | (?P<colon>(?:::?|：)(?![:/]{{2}})(?:\*{{1,2}}(?=\s)|</(?:b|strong|em|i|td|th|label|span|dt|p|code)>|=)?(?P<down>[ \t]{{0,8}}(?:[|>][-+]?)?[ \t]{{0,8}}(?:\r?\n|\\n)[ \t>+]{{1,24}}+(?![-\w.]{{1,40}}[:=]))?)
    | (?P<value>(?:value|content|data-value|default|val)[ \t]{{0,3}}=[ \t]{{0,3}}(?=["'&]))
    | (?P<element>/?(?:>|&gt;)[ \t]{{0,4}}(?:\r?\n[ \t]{{0,24}})?(?:<(?:string|value|td|code|dd|span|b|strong|pre|kbd|tt|input[^>]{{0,80}}value=)[^<>]{{0,40}}>?[ \t]{{0,4}}){{0,2}}(?=\S))
    | (?P<string>(?:\r?\n[ \t>+]{{0,24}})?<(?:string|value|td|dd|code)>)
    | (?P<comma>,(?!\s{{0,24}}\\{{0,2}}["'](?:value|val|content|default)\\{{0,2}}["'][ \t]{{0,3}}[:=])[ \t]{{0,8}}(?:\r?\n[ \t]{{0,24}})?(?=["'`&\\@]|[rbu]["']))
    | (?P<env>,?(?:[ \t]{{0,4}}\r?\n[>+]?)?[ \t,]{{0,24}}\\{{0,2}}["']?(?:value|val|content|default)\\{{0,2}}["']?[ \t]{{0,3}}[:=]{{1,2}}[ \t]{{0,8}})
    | (?P<block>\{{[ \t]{{0,4}}\r?\n(?:[^\n}}]{{0,120}}\n){{0,4}}?[ \t]{{0,16}}(?:default|value)[ \t]{{0,8}}=[ \t]{{0,4}})
    | (?P<pipe>\|(?!\|)[ \t]{{0,40}})
    | (?P<paren>[(\[]\s{{0,2}}(?![(\[]))
    | (?P<dash>[-–—][ \t]{{1,4}})
    | (?P<blank>(?<=[ \t\u00a0]))
    )
    [ \t\u00a0\u200b-\u200d\u2060\ufeff]{{0,40}}+
    """,
    re.X,
)
LINE_ENDS: Final = ("\n", "\r")
BELOW: Final = re.compile(r"\r?\n[ \t>+]{1,24}value:[ \t]{1,8}")
SIGNS: Final = {
    "annotated": "=", "equal": "=", "colon": ":", "value": "=", "element": "=", "string": "=", "comma": ",", "env": ":", "block": "=", "pipe": "|", "paren": "(", "dash": "-",
    "blank": " ",
}  # fmt: skip
ODD_VALUE: Final = re.compile(r"=(?=[=~>][^\s=~>/])")
"""`DB_PASSWORD==…`: what was drawn may begin with a sign that makes a comparison of it elsewhere."""
FALLBACK: Final = re.compile(r"[\w.$\[\]()\"'?-]{3,100}+[ \t]{0,4}(?:\|\||\?\?|\?:|or(?=[ \t]))[ \t]{0,4}(?=[\"'])")
PLAIN_TYPE: Final = re.compile(r"[ ](?:(?:ascii|hex)[ ](?=\S))?(?:[0578][ ](?=\S))?")
"""How Cisco's line says that a password follows as it is."""
PROSE_NEXT: Final = re.compile(r"[ ](?=[^\W\d_]|[057][ ])(?!value|val|content|default)")
SETTERS: Final = re.compile(
    r"(?:^|[\s\"'`;&|(+>])(?:env|arg|setx(?:\.exe)?|set -[a-z]{1,3}|set|(?:config|conf|secret|secrets|variable|env|vars?|configure) (?:set|add|create|put)(?: --?[\w-]{1,20}){0,2}|git config(?: --\w{1,8})?|setenv|defaults write [\w.]{1,60}|"
    r"enable|username \S{1,60}(?: privilege \d{1,2})?|chap|pap|sent-username \S{1,60}|neighbor \S{1,60}|password|login \S{1,80}|user \S{1,60}|account|connect \S{1,40}|psk|iw\w+)[ \t]+[\"']?$",
    re.I,
)
SETS: Final = re.compile(
    r"(?:define|setenv|putenv|set|setdefault|env)\(\s{0,4}(?:[\"']|&(?:quot|apos|#39|#34|#x27|#x22);)$", re.I
)
PIPED: Final = re.compile(r"(?:sha\d{1,3}|md5|b2|b3)sum\b|b(?:ase)?(?:32|64)(?:enc|dec)?\b")
ARN: Final = re.compile(r"arn:[a-z\-]{2,10}:[^\s\"']*$")
STANDING: Final = frozenset(
    "requirepass masterauth wpa-psk wpa-passphrase auth_pass ldap_default_authtok _authtoken secretaccesskey aws_secret_access_key aws_session_token".split()
)


NAME_AT: Final = re.compile(r"([A-Za-z_][\w.\-]{1,40}+)(?:[=:]|%3[dD])")


def is_name_at(text: str, at: int) -> bool:
    nested = NAME_AT.match(text, at)
    return nested is not None and slot_of(nested[1]) is not None


def assignment(key: KeyName, text: str, low: str) -> Spans:
    start, end, name, slot = key.start, key.end, key.name, key.slot
    if (
        start and (text[start - 1] in "?&" or (text[start - 1] == ";" and low.startswith("jsessionid", start)))
    ) or text.endswith("&amp;", 0, start):
        return NOTHING  # a parameter of an address, which has other borders
    if text[end : end + 1] == "=" and is_name_at(text, end + 1):
        return NOTHING  # the inner name is judged on its own
    if start and text[start - 1] == "/" and text.endswith("://", 0, start):
        return NOTHING  # the user of an address, whose password has other borders
    if start and text[start - 1] == ":" and ARN.search(text, max(0, start - 120), start):
        return NOTHING
    if PROSE_NEXT.match(text, end):
        if start and text[start - 1] == "/" and (pair := pair_value(start, end + 1, text, low)):
            return pair
        value = read_value(text, PLAIN_TYPE.match(text, end).end())  # type: ignore[union-attr]  # a blank is there
        return blank_separated(key, value, text) if value else NOTHING
    if name.isupper() and (odd := ODD_VALUE.match(text, end)):
        value = bare_value(text, odd.end())
        return (whole(value, text, slot),) if value and is_random(value.text, 10) else NOTHING
    sign_match = SIGN.match(low, end)
    if not sign_match:
        return NOTHING
    sign = SIGNS[sign_match.lastgroup or ""]
    if sign == "," and not sign_match["close"]:
        return NOTHING
    is_variable = text.startswith("$", start) or text.endswith(("$", "${"), 0, start)
    if sign == "|" and (is_variable or PIPED.match(low, sign_match.end())):
        return NOTHING  # it goes into a program
    if sign == "=" and sign_match["element"] and not text.endswith(("<", "&lt;", ">", ":", '"', "'"), 0, start):
        return NOTHING
    if is_name_at(text, sign_match.end()) or (sign_match["element"] and text[sign_match.end()] in "@])`"):
        return NOTHING
    if (
        start
        and "/" in text[start - 1 - (text[start - 1] == " ") : start]
        and (pair := pair_value(start, sign_match.end(), text, low))
    ):
        return pair
    at = sign_match.end()
    if sign == ":" and text[at : at + 1] in LINE_ENDS and (below := BELOW.match(text, at)):
        at = below.end()
    value = read_value(text, at)
    if value is None:
        return NOTHING
    if sign == " ":
        return blank_separated(key, value, text)
    equal = sign_match["equal"] if sign == "=" else None
    if equal and "\n" in equal and "\\" not in equal and not is_random(value.text, 12):
        return NOTHING
    if (
        sign == ":"
        and sign_match["down"]
        and not (
            is_random(value.text, 12)
            or value.quoted
            or (slot is Slot.PASSWORD and value.is_last and looks_chosen(value.text))
        )
    ):
        return NOTHING
    if sign == "," and SETS.search(text, max(0, start - 24), start):
        sign = "="  # define('DB_PASSWORD', …), setenv("DB_PASSWORD", …)
    if sign == "(" and ("=" in value.text.rstrip("=") or VARIABLE.fullmatch(value.text)):
        return NOTHING  # arguments of a call
    if is_credential(slot, value, name=name, sign=sign):
        return (told(key, value, text),)
    return fallback(key, value, text) if sign == "=" and not value.quoted else NOTHING


LOGIN_SLASH: Final = re.compile(
    r"(?<![a-z])(?:user(?:name)?|login|name|jméno|uživatel|benutzer(?:name)?|nutzer|usuario|utilisateur|логин)[ ]?/[ ]?$"
)
PAIR: Final = re.compile(r"(?P<user>[\w.@+\-]{1,40})[ ]?[/:|][ ]?(?=\S{4})")


def pair_value(start: int, at: int, text: str, low: str) -> Spans:
    """`Username/Password: admin/X`: two values behind two names."""
    if not LOGIN_SLASH.search(low, max(0, start - 16), start) or not (pair := PAIR.match(text, at)):
        return NOTHING
    value = read_value(text, pair.end())
    good = value and looks_chosen(value.text, 5) and is_credential(Slot.PASSWORD, value, name="", sign="is")
    return (whole(value, text, Slot.PASSWORD),) if value and good else NOTHING


USER: Final = re.compile(r"[A-Za-z][\w.@\-]{0,40}:(?=\S{4})")


def told(key: KeyName, value: Value, text: str) -> tuple[int, int]:
    """The value; of a pair behind a word for both (`stats auth admin:X`, `-auth jana:X`) the second half."""
    start, end = whole(value, text, key.slot)
    user = USER.match(text, start, end) if key.name.lower().endswith("auth") else None
    return (user.end() if user else start), end


def fallback(key: KeyName, value: Value, text: str) -> Spans:
    """`os.environ.get("X") or "…"`, `process.env.X || '…'`: what is taken where nothing was set."""
    other = FALLBACK.match(text, value.start)
    default = read_value(text, other.end()) if other else None
    if default is None or not default.quoted or not is_credential(key.slot, default, name=key.name, sign="="):
        return NOTHING
    return (whole(default, text, key.slot),)


def blank_separated(key: KeyName, value: Value, text: str) -> Spans:
    """`--token X`, `ENV API_KEY X`, `requirepass X`; elsewhere a blank is no sign, unless what follows was drawn."""
    if is_name_at(text, value.start):
        return NOTHING
    is_given = key.is_option or key.name.lower() in STANDING
    if not is_given and not value.quoted and value.text.isalpha():
        return NOTHING
    if is_given or SETTERS.search(text, max(0, key.start - 90), key.start):
        sign = "=" if key.is_option or value.quoted else "-"
        return (told(key, value, text),) if is_credential(key.slot, value, name=key.name, sign=sign) else NOTHING
    drawn = is_random(value.text, 20) and any(c.isdigit() for c in value.text) and value.text.count("/") < 3
    if (
        drawn
        and key.slot not in (Slot.PASSWORD, Slot.UNKNOWN_KEY)
        and is_credential(key.slot, value, name=key.name, sign=" ")
    ):
        return (whole(value, text, key.slot),)
    return NOTHING


RULES: Final[tuple[NameRule, ...]] = (
    NameRule(
        name="assignment",
        why="Most credentials have no shape of their own; the name beside them is all there is.",
        finds=(
            "DB_PASSWORD=⟦{chosen}⟧",
            "password: ⟦{signs:16}⟧",
            '{"client_secret": "⟦{alnum:40}⟧"}',
            "export APP_SECRET=⟦{b64:43}=⟧",
            'userPassword: "⟦{weak}⟧"',
            "<password>⟦{lower:12}⟧</password>",
            "'password' => '⟦{chosen}⟧',",
            "Passwort: `⟦{signs:16}⟧`",
            "contraseña: ⟦{chosen}⟧",
            '<add key="CF_API_TOKEN" value="⟦{url64:40}⟧" />',
            'System.setProperty("AS_TOKEN", "⟦{alnum:64}⟧");',
            'variable "db_password" {\n  default = "⟦{chosen}⟧"\n}',
            "ENV DATADOG_APP_KEY ⟦{hex:40}⟧",
            "set -x API_TOKEN ⟦{alnum:40}⟧",
            "encryption_key:\n  ⟦{b64:43}=⟧\n",
            "- name: DB_PASSWORD\n  value: ⟦{chosen}⟧",
            "API_KEY=&quot;⟦{alnum:32}⟧&quot;",
            '{\\"api_key\\":\\"⟦{hex:32}⟧\\"}',
            "| api token | ⟦{hex:40}⟧ |",
            "mot de passe : ⟦{chosen}⟧",
            "пароль: ⟦{chosen}⟧",
            "密码：⟦{chosen}⟧",
            "Server=db;User Id=web;Password=⟦{alnum:16}⟧;Encrypt=true",
            "const apiKey: string = '⟦{alnum:32}⟧'",
            "--db-password ⟦{chosen}⟧ --port 1",
            "spring.datasource.password=⟦{chosen}⟧",
            "const JWT_SECRET = process.env.JWT_SECRET || '⟦{hex:48}⟧'",
            "SECRET=⟦/{b64:42}⟧",
            "API_KEY=⟦{alnum:14}xXxX{alnum:14}⟧",
            "DB_PASSWORD=⟦={alnum:16}⟧",
            "password: ⟦{alnum:9}={alnum:8}⟧",
            'registration_shared_secret: "⟦{of_synapse:50}⟧"',
            "macaroon_secret_key: ⟦{of_synapse:50}⟧",
            "SECRET_KEY = '⟦{of_django:50}⟧'",
            '"client_secret": "⟦{keyboard:32}⟧",',
            'api_key = "⟦A7b{alnum:9}⟧"',
            "password: '⟦748{digits:5}⟧'",
            "JWT_SECRET=⟦{diceware:4}⟧",
            "N8N_ENCRYPTION_KEY=⟦{alnum:32}⟧",
            'export BW_SESSION="⟦{b64:86}==⟧"',
            'api:\n  encryption:\n    key: "⟦{b64:43}=⟧"\n',
            "[api]\nkey = ⟦{alnum:32}⟧\n",
            '<machineKey validationKey="⟦{HEX:64}⟧" decryption="AES" />',
        ),
        leaves=(
            "password=password",
            'token = os.environ["MATRIX_TOKEN"]',
            "max_new_tokens: 512",
            "password_file: /run/secrets/db_password",
            "public_key = load_public_key(path)",
            "cache key: v2-pip-{hex:64}",
            "access key: Alt+Shift+K",
            "MYSQL_ROOT_PASSWORD: changeme",
            "password: z.string().min(12),",
            "self.password = password",
            "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?set it}",
            "token: abc123",
            "password: see the vault",
            "Passwort: mindestens 12 Zeichen",
            "tajemník: Petr Novák",
            "compass: north",
            "secret: web-tls",
            '"password": {"type": "string", "format": "password"}',
            "password_hash TEXT NOT NULL,",
            'sender_key: "{b64:43}"',
            "password: ‹redacted:secret›",
            "PASS: 128 FAIL: 0",
            "TLS_KEY=/etc/ssl/private/server2026.key",
            "token = /Users/Jana/Documents/Projekt2026/token.txt",
            "const SECRET = process.env.SECRET || ''",
            "if PASSWORD==other:",
            "API_KEY=xxxxxxxxxxxxxxxx",
            "TOKEN = r'[MN][A-Za-z0-9]{23}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38}(?!x)'",
            'token: \'{"type": "borrower", "level": 3, "expires": "2021-12-31"}\'',
            "encryption:\n  key: generated",
            "key_node.tag = 'tag:yaml.org,2002:str'",
            "secret: prod-database-backup-user",
            "key = value",
            'login(email: "jana@example.org", password: input)',
            'echo -n "$PASSWORD" | ssh-add7',
            "cat password | sha256sum",
            "git config --global user.signingkey 4AEE18F83AFDEB23",
            "password: {{ .Values.password | b64enc }}",
            "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE",
        ),
        worst="password=",
        find=assignment,
    ),
)
