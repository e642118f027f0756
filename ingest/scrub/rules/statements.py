"""Statements and calls that hold a password at a fixed place: SQL, netrc, login calls, PowerShell, network devices."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.shapes import is_random, is_technical, looks_chosen
from ingest.scrub.slots import FUNCTION_WORDS


def sql(match: re.Match[str], text: str) -> Spans:
    group = "s" if match["s"] else "o"
    value = text[match.start(group) : match.end(group)]
    if is_placeholder(value, quoted=True) or re.match(r"(?:md5[0-9a-f]{32}|\*[0-9A-F]{40}|SCRAM-SHA)", value):
        return NOTHING
    if " " in value and not FUNCTION_WORDS.isdisjoint(value.split()):
        return NOTHING  # a message about passwords
    return (match.span(group),)


def either(match: re.Match[str], text: str) -> Spans:
    group = "s" if match["s"] else "o"
    value = match[group]
    if is_placeholder(value, quoted=True) or value in ("public", "private", "default"):
        return NOTHING
    if not looks_chosen(value, 4) and not is_random(value, 12):
        return NOTHING
    return (match.span(group),)


def netrc(match: re.Match[str], text: str) -> Spans:
    value = match["s"].rstrip(",;")
    if is_placeholder(value) or len(value) < 3:
        return NOTHING
    return ((match.start("s"), match.start("s") + len(value)),)


def after_reset(match: re.Match[str], text: str) -> Spans | None:
    if "password" not in match.string[max(0, match.start() - 160) : match.start()]:
        return None
    value = text[match.start("s") : match.end("s")]
    return (match.span("s"),) if is_random(value, 12) and not is_placeholder(value) else NOTHING


def call(match: re.Match[str], text: str) -> Spans:
    if token := match["o"]:
        is_drawn = is_random(token, 20) and any(map(str.isdigit, token))
        return (match.span("o"),) if is_drawn and not is_placeholder(token, quoted=True) else NOTHING
    value = match["s"]
    if is_placeholder(value, quoted=True) or len(value) < 4:
        return NOTHING
    return (match.span("s"),)


ACL_USER: Final = re.compile(r"(?<![\w\-])(?:acl )?(?:set)?user[ ]{1,4}[\w.\-]{1,40}$", re.I)


def redis(match: re.Match[str], text: str) -> Spans:
    group = "s" if match["s"] else "o"
    value = match[group]
    if group == "o" and not ACL_USER.search(text, max(0, match.start() - 60), match.start()):
        return NOTHING
    if is_placeholder(value) or is_technical(value) or value.upper() == value:
        return NOTHING
    good = looks_chosen(value, 4) if group == "o" else looks_chosen(value, 8) or is_random(value, 12)
    return (match.span(group),) if good else NOTHING


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="sql-password",
        kind="password",
        why="Statements that set a password.",
        pattern=re.compile(
            r"(?:identified[ \t]{1,8}(?:with[ \t]{1,8}[\w'\"]{1,40}[ \t]{1,8})?(?:by|as)(?:[ \t]{1,8}password)?|(?<![a-z])password(?:[ \t]{0,8}[(=]|[ \t]{1,8}for[ \t]{1,8}\S{1,60}[ \t]{0,8}=|(?=[ \t])))"
            r"[ \t]{0,8}n?(?:password\()?(?:['\"](?P<s>[^'\"\r\n]{3,128})['\"]|&(?:\#39|\#x27|apos|quot);(?P<o>[^'\"\r\n&]{3,128})&(?:\#39|\#x27|apos|quot);)"
        ),
        gate=gate("identified password"),
        finds=(
            "GRANT ALL ON app.* TO 'app'@'%' IDENTIFIED BY '⟦{chosen}⟧';",
            "ALTER USER app WITH PASSWORD '⟦{alnum:18}⟧';",
            "CREATE LOGIN web WITH PASSWORD = '⟦{chosen}⟧'",
        ),
        leaves=(
            "ALTER USER app WITH PASSWORD '<password>';",
            "IDENTIFIED BY 'password'",
            'password "must not be empty"',
        ),
        worst="identified by ",
        validate=sql,
        is_anchored=True,
        is_folded=True,
    ),
    Rule(
        name="mail-relay",
        kind="password",
        why="Lines of Postfix's sasl_passwd and of PPP's secrets: a server or client, then user and password.",
        pattern=re.compile(
            r"(?:\]:\d{2,5}[ \t]{1,8}|static:)[^\s:]{1,80}:(?P<s>[^\s\"'`<>‹›]{4,128})|[ \t]\*[ \t]{1,8}\"(?P<o>[^\s\"]{4,64})\"(?=[ \t]{1,8}\*)"
        ),
        gate=gate("]: static:", ' * "', '\t* "', '\t*\t"'),
        finds=("[smtp.example.org]:587 relay@example.org:⟦{alnum:18}⟧", 'jana * "⟦{chosen}⟧" *'),
        leaves=(
            "[smtp.example.org]:587 <user>:<password>",
            "static:img:logo",
            'echo 2 * "$factor" * 3',
            "listen [::]:443 ssl",
        ),
        worst="]:587 a",
        validate=either,
        is_anchored=True,
    ),
    Rule(
        name="reset-output",
        kind="password",
        why="What a reset printed: the value stands in the line below the word password.",
        pattern=re.compile(r"new value: {0,4}(?P<s>[^\s\"'`<>‹›\\]{8,64}+)(?=[\s\"\\<]|$)"),
        gate=gate("", "new value:"),
        finds=("Password for the [elastic] user successfully reset.\nNew value: ⟦{url64:20}⟧",),
        leaves=("the setting was saved.\nNew value: 2026-05-02T10:00",),
        worst="new value: ",
        validate=after_reset,
        is_anchored=True,
        is_folded=True,
    ),
    Rule(
        name="netrc",
        kind="password",
        why="Lines of ~/.netrc, for curl, git and ftp.",
        pattern=re.compile(
            r"(?<!\w)login[ \t\r\n]{1,8}(?P<user>[^\s\"']{1,80})[ \t\r\n]{1,8}password[ \t]{1,8}(?P<s>[^\s\"'`<>‹›]{3,256})"
        ),
        gate=gate("login"),
        finds=("machine files.example.org login jana password ⟦{weak}⟧",),
        leaves=("machine git.example.org login <user> password <token>",),
        worst="login a ",
        validate=netrc,
        is_anchored=True,
    ),
    Rule(
        name="auth-call",
        kind="password",
        why="Pairs of user and password in code: requests, HTTPBasicAuth, usernamePassword, login calls.",
        pattern=re.compile(
            r"(?:auth\s{0,2}=\s{0,2}\(|BasicAuth\(|basic_?auth\(|setBasicAuth\(|SetBasicAuth\(|PasswordAuthentication\(|PasswordCredentials?\(|NetworkCredential\(|\.(?:login|authenticate|logIn|signIn|auth)\((?!\s{0,4}[\"'][A-Za-z0-9_\-.+/=]{20,256}[\"']\s{0,4}[,)])|(?:mysqli?_connect|pg_connect|oci_connect|getConnection|new PDO|new mysqli|createConnection|mysql_real_connect)\(\s{0,4}[^(),\n]{1,120},)\s{0,4}[burf]?[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,4}[burf]?[\"'](?P<s>[^\"'\n]{3,128})[\"']"
            r"|\.(?:login|authenticate|logIn|signIn)\(\s{0,4}[\"'](?P<o>[A-Za-z0-9_\-.+/=]{20,256})[\"']\s{0,4}[,)]"
        ),
        gate=gate(
            "auth basicauth( basic_auth( passwordauthentication( passwordcredential networkcredential( .login( .authenticate( .signin( .auth( mysql_connect( mysqli_connect( pg_connect( oci_connect( "
            "getconnection( createconnection( mysql_real_connect(",
            "new pdo(",
            "new mysqli(",
        ),
        is_anchored=True,
        finds=(
            "requests.get(url, auth=('admin', '⟦{diceware:3}⟧'))",
            'smtp.login("bot@example.org", "⟦{chosen}⟧")',
            "hub.login('⟦{hex:39}a⟧')",
            'req.SetBasicAuth("deploy", "⟦{chosen}⟧")',
        ),
        leaves=("auth = HTTPBasicAuth(user, password)", "requests.get(url, auth=('user', 'pass'))"),
        worst="auth=('a',",
        validate=call,
    ),
    Rule(
        name="secure-string",
        kind="password",
        why="PowerShell's plain text that becomes a SecureString, and Oracle's thin URL.",
        pattern=re.compile(
            r"(?:ConvertTo-SecureString[ \t]{1,8}(?:-String[ \t]{1,8})?[\"'](?P<s>[^\"'\n]{3,128})[\"']|oracle:(?:thin|oci):[\w$]{1,40}/(?P<o>[^\s@/\"']{3,64})@)",
            re.I,
        ),
        gate=gate("", "convertto-securestring", "oracle:thin:", "oracle:oci:"),
        is_anchored=True,
        finds=(
            'ConvertTo-SecureString "⟦{chosen}⟧" -AsPlainText -Force',
            "jdbc:oracle:thin:scott/⟦{chosen}⟧@//h:1521/x",
        ),
        leaves=("ConvertTo-SecureString $plain -AsPlainText", "jdbc:oracle:thin:@//h:1521/x"),
        worst="oracle:thin:",
        validate=either,
    ),
    Rule(
        name="network-device",
        kind="password",
        why="SNMP communities and keys of wireless interfaces, as network devices are configured.",
        pattern=re.compile(
            r"(?:snmp-server[ \t]{1,8}community|snmp(?:v[123]c?)?[ _\-](?:r[ow][ _\-])?community(?:[ _\-]string)?[\"']?[ \t]{0,4}[:=]|\br[ow]community6?|option[ \t]{1,8}key|wireless\.[\w@\[\].\-]{1,40}\.key=|wifi-iface\[\d\]\.key=|(?:isakmp|tacacs-server(?:[ ]host[ ]\S{1,40})?|radius-server(?:[ ]host[ ]\S{1,40}(?:[ ](?:auth|acct)-port[ ]\d{1,5}){0,2})?)[ ]key(?:[ ][067](?=[ ]))?|com2sec[ \t]{1,8}\S{1,30}[ \t]{1,8}\S{1,40})[ \t]{0,8}['\"]?(?P<s>[^\s'\"]{4,64})(?P<o>(?!))?"
        ),
        gate=gate(
            "snmp rocommunity rwcommunity option wifi-iface[ wireless. com2sec isakmp tacacs-server radius-server"
        ),
        is_anchored=True,
        finds=(
            "snmp-server community ⟦{chosen}⟧ RO",
            "snmp_community: ⟦{chosen}⟧",
            "option key '⟦{chosen}⟧'",
            "wireless.@wifi-iface[0].key='⟦{chosen}⟧'",
            "uci set wireless.default_radio0.key='⟦{chosen}⟧'",
            "crypto isakmp key ⟦{chosen}⟧ address 10.0.0.1",
            "radius-server host 10.0.0.1 key ⟦{signs:16}⟧",
        ),
        leaves=("snmp-server community public RO", "rocommunity public", "option key '1'"),
        worst="option key ",
        validate=either,
    ),
    Rule(
        name="ipsec-secret",
        kind="password",
        why="Lines of ipsec.secrets: whom for, how, and the secret in quotes.",
        pattern=re.compile(r":[ \t]{1,4}(?:PSK|EAP|XAUTH|NTLM)[ \t]{1,4}\"(?P<s>[^\"\n]{4,128})\"(?P<o>(?!))?"),
        gate=gate("", ": psk ", ": eap ", ": xauth ", ": ntlm "),
        finds=('jana : EAP "⟦{chosen}⟧"', '%any : PSK "⟦{alnum:24}⟧"'),
        leaves=(': PSK "<secret>"', ': EAP "identity"'),
        worst=": EAP ",
        validate=either,
        is_anchored=True,
    ),
    Rule(
        name="redis-login",
        kind="password",
        why="Redis: the command that logs in, and users of its access lists, whose passwords follow a `>`.",
        pattern=re.compile(
            r"(?<![^\s>`'\"])AUTH[ ]{1,4}(?:[\w.\-]{1,40}[ ]{1,4})?(?P<s>[^\s\"'`<>]{6,128})(?=[\s`'\"]|$)"
            r"|[ ]on(?:[ ][~+&%@#\-]?[^\s>]{1,60}){0,12}[ ]>(?P<o>[^\s\"'`<>]{4,128})"
        ),
        gate=gate("", "auth ", *(f" on {sign}" for sign in "><~+&%#"), " on nopass", " on reset", " on all"),
        finds=("127.0.0.1:6379> AUTH ⟦{alnum:16}7⟧", "AUTH jana ⟦{chosen}⟧", "user jana on >⟦{chosen}⟧ ~* +@all"),
        leaves=(
            "AUTH LOGIN",
            "AUTH CRAM-MD5",
            "250 AUTH PLAIN LOGIN",
            "user jana on +@all",
            "AUTH failed for 10.0.0.5",
        ),
        worst="user a on ~ ",
        validate=redis,
        is_anchored=True,
    ),
)
