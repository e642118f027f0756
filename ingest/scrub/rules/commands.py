"""Command lines. The same letter means another thing to each program (`-p` is a port for ssh and a password for sshpass),
so there is a table a program; `-p` without a value asks for it, and options that read a file or descriptor hold nothing.
"""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from dataclasses import dataclass
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.shapes import is_random, looks_chosen
from ingest.scrub.shell import Word, command_words
from ingest.scrub.words import any_of

ASKS: Final = frozenset("user:password user:pass username:password".split())


@dataclass(frozen=True, slots=True)
class Program:
    """How a program is given a secret.

    `alone` are options whose next word it is, `glued` options that it follows without a blank, `pairs` options with
    user and password in one word, `places` the number of the bare word that it is (after `verbs`, of which one has to
    be there; negative from the end).
    """

    names: str
    alone: str = ""
    glued: str = ""
    pairs: str = ""
    between: str = ":"
    verbs: str = ""
    places: tuple[int, ...] = ()
    wants: str = ""
    """An option that has to be there for `places` to hold."""
    takes: str = ""
    """Options of which the next word is theirs, so that it does not count as a bare one."""
    chosen: bool = False
    """What stands there counts only if it looks chosen: the program's name is a word as well."""
    drawn: bool = False
    """What stands there counts only if it was drawn, not chosen."""


PROGRAMS: Final[tuple[Program, ...]] = (
    Program("curl", pairs="-u --user -U --proxy-user --proxy-user -su -sSu -iu -ku -sku -vu -fu -Lu -sLu -sfu -fsSLu -skLu -sSfu -ksu -Iu -su -isu", alone="--pass --proxy-pass --oauth2-bearer --tlspassword --key-pass"),
    Program("wget aria2c axel", alone="--password --http-password --ftp-password --proxy-password --http-passwd --ftp-passwd"),
    Program("http https httpie xh xhs", pairs="-a --auth"),
    Program("mysql mariadb mysqldump mariadb-dump mysqladmin mysqlimport mysqlshow mysqlcheck mycli mysqlsh mysqlbinlog mariadb-admin mariadb-backup xtrabackup innobackupex mydumper pt-table-checksum mysqlpump mariadb-check", glued="-p --password="),
    Program("mysqladmin mariadb-admin", verbs="password", places=(0,), takes="-u -h -P -S --user --host"),
    Program("sshpass", alone="-p", glued="-p"),
    Program("docker podman nerdctl buildah skopeo helm oras crane regctl singularity apptainer ctr img", verbs="login", alone="-p --password"),
    Program("skopeo crictl ctr podman buildah", pairs="--creds --src-creds --dest-creds --user -u"),
    Program("redis-cli valkey-cli keydb-cli redis-benchmark", alone="-a --pass -u"),
    Program("mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop", alone="-p --password", glued="-p"),
    Program("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapmodrdn ldapcompare ldapvi", alone="-w -s -a"),
    Program("smbclient rpcclient smbget net winexe wmic pth-winexe smbmap nmblookup smbcacls smbpasswd", pairs="-U --user -u", between="%", alone="--password"),
    Program("net", verbs="user", places=(1,), chosen=True),
    Program("net", verbs="use", places=(2,), chosen=True),
    Program("htpasswd", places=(2,), wants="b"),
    Program("rabbitmqctl", verbs="add_user change_password authenticate_user", places=(1,)),
    Program("zip unzip zipcloak zipnote", alone="-P --password", glued="-P"),
    Program("7z 7za 7zr 7zz rar unrar", glued="-p -hp"),
    Program("openssl", glued="pass:", alone="-k -K -passwd"),
    Program("sqlplus sqlldr expdp impdp exp imp rman sqlcl", pairs=" ", between="/"),
    Program("sqlcmd bcp osql isql tsql bsqldb freebcp mssql-cli go-sqlcmd", alone="-P", glued="-P"),
    Program("ipmitool ipmi-power racadm fru", alone="-P -p"),
    Program("snmpget snmpwalk snmpset snmpbulkwalk snmptrap", alone="-A -X"),
    Program("az", alone="-p --password --account-key --sas-token --connection-string"),
    Program("cf oc ibmcloud tkn rosa", alone="-p --password -t --token --apikey"),
    Program("xfreerdp xfreerdp3 wlfreerdp mstsc", glued="/p: /pass: /gp:"),
    Program("rdesktop", alone="-p"),
    Program("cmdkey cmdkey.exe runas psexec schtasks wmic", glued="/pass: /password: /rp: /p:", alone="-p /p /rp"),
    Program("mc mcli", verbs="alias config host admin user", places=(-1, -2), drawn=True),
    Program("vault bao", verbs="login unseal token operator", places=(0,), drawn=True),
    Program("bw rbw", verbs="login unlock", places=(1, 0), drawn=False, takes="--method --code"),
    Program("nmcli", verbs="password psk wifi-sec.psk 802-11-wireless-security.psk", places=(0,)),
    Program("wpa_passphrase", places=(1,)),
    Program("iwctl", alone="--passphrase"),
    Program("netsh", glued="key= keyMaterial= password="),
    Program("twine poetry flit hatch uv pdm devpi", alone="-p --password --token -a --auth"),
    Program("cargo", verbs="login", places=(0,), drawn=True),
    Program("ngrok", verbs="authtoken add-authtoken", places=(0,), drawn=True),
    Program("snyk", verbs="auth", places=(0,), drawn=True),
    Program("doctl hcloud flyctl fly linode-cli", alone="-t --access-token"),
    Program("cloudflared", verbs="install run", places=(0,), alone="--token", drawn=True),
    Program("lftp ncftp ncftpput ncftpget", pairs="-u", between=",", alone="-p"),
    Program("mosquitto_pub mosquitto_sub mqttx mqtt", alone="-P --pw --password"),
    Program("influx clickhouse-client clickhouse cqlsh cypher-shell beeline sqoop trino presto arangosh arangodump couchbase-cli cbq neo4j-admin snowsql vsql nzsql hdbsql", alone="-p --password -password -pwd -w"),
    Program("x11vnc vncviewer vncconnect xtightvncviewer tigervnc", alone="-passwd -p --password"),
    Program("esxcli vim-cmd govc ovftool vifs", alone="-p --password"),
    Program("evil-winrm crackmapexec cme nxc netexec hydra medusa", alone="-p --password -P"),
    Program("oathtool", alone="-b --base32", places=(-1,), wants="b", drawn=True),
    Program("register_new_matrix_user synadm", alone="-p --password -k --shared-secret -t"),
    Program("create-account mas-cli conduwuit", alone="-password --password"),
    Program("jenkins-cli java", pairs="-auth", alone="-storepass -keypass -srcstorepass -deststorepass -destkeypass -srckeypass"),
    Program("keytool jarsigner apksigner", alone="-storepass -keypass -srcstorepass -deststorepass -destkeypass -srckeypass -new", glued="pass:"),
    Program("conan jf jfrog nexus mvn gradle", alone="-p --password --access-token --apikey"),
    Program("nuget choco dotnet", alone="-Password -ApiKey -k --api-key -apikey --apikey -p"),
    Program("xcrun altool notarytool security codesign productbuild", alone="-p --password -w"),
    Program("signtool pvk2pfx makecert", alone="/p -pi -po"),
    Program("ssh-keygen puttygen", alone="-N -P --new-passphrase --old-passphrase"),
    Program("gpg gpg2 gpgsm duplicity borg restic rclone age-plugin", alone="--passphrase --password"),
    Program("plink pscp psftp putty winscp", alone="-pw -passphrase"),
    Program("svn hg bzr", alone="--password"),
    Program("psftp.exe pscp.exe plink.exe", alone="-pw"),
    Program("kinit", alone="--password"),
    Program("useradd usermod adduser", alone="--password"),
    Program("samba-tool", verbs="create setpassword setexpiry", places=(1,), alone="--newpassword --password --adminpass"),
    Program("ansible ansible-playbook", glued="ansible_password= ansible_become_pass= ansible_ssh_pass="),
    Program("occ", alone="--password"),
    Program("wp", alone="--user_pass --dbpass --admin_password", glued="--user_pass= --dbpass= --admin_password= --dbpass="),
    Program("expo eas npm yarn", alone="--password -p"),
    Program("heroku", verbs="auth:token", places=(0,), drawn=True),
    Program("gitlab-runner", alone="-r --registration-token --token"),
    Program("tailscale headscale netbird", alone="--authkey --auth-key --setup-key -k"),
    Program("wg", verbs="private-key preshared-key", places=(0,), drawn=True),
    Program("imapsync offlineimap", alone="--password1 --password2"),
    Program("swaks sendemail msmtp mailx ssmtp", alone="-ap -xp --auth-password -pass"),
    Program("tshark openconnect openfortivpn anyconnect", alone="-p --password"),
    Program("chpasswd.exe dscl", verbs="-passwd -create", places=(-1,)),
    Program("sudo", alone=""),
)  # fmt: skip


def by_name() -> dict[str, tuple[Program, ...]]:
    table: dict[str, tuple[Program, ...]] = {}
    for program in PROGRAMS:
        for name in program.names.split():
            table[name] = (*table.get(name, ()), program)
    return table


TABLE: Final = by_name()


def is_value(word: Word, *, drawn: bool = False) -> bool:
    text = word.text
    if len(text) < 3 or (text.startswith("-") and not word.quoted) or is_placeholder(text, quoted=word.quoted):
        return False
    if text.startswith(("$", "<", "@", "file:", "env:", "fd:", "stdin", "/dev/")) or text.lower() in ASKS:
        return False
    return not drawn or is_random(text, 16)


def options(program: Program, words: list[Word]) -> list[Word]:
    """Secrets that an option carries, as its next word, glued to it, or after `=`."""
    alone, glued, pairs = program.alone.split(), program.glued.split(), program.pairs.split()
    found = []
    for at, word in enumerate(words):
        if word.quoted and not word.text.startswith(tuple(glued) or ("\0",)):
            continue
        following = words[at + 1] if at + 1 < len(words) else None
        option, equals, _ = word.text.partition("=")
        if option in alone:
            value = word.after(len(option) + 1) if equals else following
            if value and is_value(value):
                found.append(value)
        elif option in pairs or (
            word.text[:2] in pairs and len(word.text) > 2 and word.text[1] != "-" and program.between in word.text
        ):
            value = word.after(len(option) + 1) if equals else following if option in pairs else word.after(2)
            if value and (secret := second_half(value, program.between)):
                found.append(secret)
        for prefix in glued:
            if (
                word.text.startswith(prefix)
                and len(word.text) > len(prefix) + 2
                and not (prefix == "-p" and word.text.startswith(("-p=", "-proto", "-plugin", "-port", "-pass")))
            ):
                value = word.after(len(prefix))
                if is_value(value):
                    found.append(value)
    return found


def second_half(word: Word, between: str) -> Word | None:
    user, sign, password = word.text.partition(between)
    if not sign or (user.startswith("$") and password.startswith("$")):
        return None
    if not password:
        bare = Word(user, word.start, word.start + len(user), word.quoted)
        return bare if is_value(bare, drawn=True) else None
    value = Word(password, word.start + len(user) + len(sign), word.end, word.quoted)
    lenient = value.text.lower() not in ("password", "pass", "pw")
    return (
        value
        if lenient
        and not is_placeholder(password, quoted=True)
        and len(password) >= 3
        and "://" not in word.text[: len(user) + 3]
        else None
    )


def places(program: Program, words: list[Word]) -> list[Word]:
    if program.verbs:
        verbs = program.verbs.split()
        at = next((i for i, word in enumerate(words) if word.text in verbs), -1)
        if at < 0:
            return []
        words = words[at + 1 :]
    if program.wants and not any(re.fullmatch(r"-\w*" + program.wants + r"\w*", word.text) for word in words):
        return []
    takes = program.takes.split()
    bare = [
        word
        for at, word in enumerate(words)
        if (word.quoted or not word.text.startswith("-") or len(word.text) > 24)
        and not (at and words[at - 1].text in takes)
    ]
    if program.wants:
        bare = [word for word in bare if not word.text.startswith("-")]
    found = []
    for place in program.places:
        if (
            -len(bare) <= place < len(bare)
            and is_value(bare[place], drawn=program.drawn)
            and bare[place].text[:1] != "@"
        ):
            word = bare[place]
            if program.chosen and not looks_chosen(word.text):
                continue
            if "://" not in word.text and not re.fullmatch(r"[\w.+-]+@[\w.-]+", word.text):
                found.append(word)
    return found


def command(match: re.Match[str], text: str) -> Spans:
    words = command_words(text, match.end(), match["program"])
    if not words:
        return NOTHING
    found: list[Word] = []
    for program in TABLE[match["program"]]:
        if program.verbs and not program.places and not any(word.text in program.verbs.split() for word in words):
            continue
        if program.pairs == " ":
            found += [
                secret
                for word in words[:3]
                if re.fullmatch(r"[\w$.]+/[^\s/@]+(?:@.*)?", word.text) and (secret := oracle(word))
            ]
            continue
        found += options(program, words)
        if program.places:
            found += places(program, words)
    return tuple(sorted({(word.start, word.end) for word in found if word.end > word.start}))


def oracle(word: Word) -> Word | None:
    user, _, rest = word.text.partition("/")
    password = rest.partition("@")[0]
    value = Word(password, word.start + len(user) + 1, word.start + len(user) + 1 + len(password), word.quoted)
    return (
        value
        if is_value(value) and not password.endswith(".sql") and (looks_chosen(password, 4) or "@" in rest)
        else None
    )


READERS: Final = re.compile(
    r"(?:sudo(?: -\w+)* )?(?:passwd --stdin|passwd -s|passwd|chpasswd|sudo (?:-\w+ )*-S|sudo -\w*S\w*|kinit|vncpasswd|smbpasswd|docker login|podman login|helm registry login|su|cryptsetup|gpg|gh auth|ansible-vault|"
    r"htpasswd -\w*i|pw usermod|mkpasswd|openssl passwd|wpa_passphrase|saslpasswd2|ldappasswd|mosquitto_passwd|iwctl|borg|restic|keyctl|secret-tool|pass insert|openconnect|faillock|slappasswd|skopeo login|oc login|flatpak|wg pubkey|age|rclone obscure)\b"
)


def piped(match: re.Match[str], text: str) -> Spans:
    """`echo X | sudo -S`, `printf '%s' X | vncpasswd`: the last word before the bar is what the program reads."""
    words = command_words(text, match.end())
    words = [word for word in words if word.quoted or not re.fullmatch(r"-[neE]+|%s(?:\\n)?", word.text)]
    words = [word for word in words if not re.fullmatch(r"%s(?:\\n)?(?:%s(?:\\n)?)*", word.text)]
    if not words or len(words) > 4 or any(word.text.startswith(("$(", "<(")) for word in words):
        return NOTHING
    tail = text[words[-1].end : words[-1].end + 120]
    reader = re.match(r"[\"']?\s{0,4}\|\s{0,4}", tail)
    if not reader or not (program := READERS.match(tail, reader.end())):
        return NOTHING
    word = words[-1]
    value = second_half(word, ":") if "chpasswd" in program[0] and ":" in word.text else word
    return ((value.start, value.end),) if value and is_value(value) else NOTHING


def here_string(match: re.Match[str], text: str) -> Spans:
    words = command_words(text, match.end())
    if not words or not is_value(words[0]):
        return NOTHING
    value = second_half(words[0], ":") if "chpasswd" in match[0] and ":" in words[0].text else words[0]
    return ((value.start, value.end),) if value else NOTHING


def sql(match: re.Match[str], text: str) -> Spans:
    value = text[match.start("s") : match.end("s")]
    if is_placeholder(value, quoted=True) or re.match(r"(?:md5[0-9a-f]{32}|\*[0-9A-F]{40}|SCRAM-SHA)", value):
        return NOTHING
    return (match.span("s"),)


def either(match: re.Match[str], text: str) -> Spans:
    group = "s" if match["s"] else "o"
    value = match[group]
    if is_placeholder(value, quoted=True) or value in ("public", "private", "default") or not looks_chosen(value, 4):
        return NOTHING
    return (match.span(group),)


def netrc(match: re.Match[str], text: str) -> Spans:
    value = match["s"].rstrip(",;")
    if is_placeholder(value) or len(value) < 3:
        return NOTHING
    return ((match.start("s"), match.start("s") + len(value)),)


def call(match: re.Match[str], text: str) -> Spans:
    value = match["s"]
    if is_placeholder(value, quoted=True) or len(value) < 4:
        return NOTHING
    return (match.span("s"),)


NAMES: Final = any_of(TABLE)
UNGATED: Final = frozenset("http https net exp imp java security expo age img ctr go mas check dump".split())
"""Words of every other text; their command lines open the gate by what follows the name."""
GATE_NAMES: Final = " ".join(sorted({re.findall("[a-z]+", name)[0] for name in TABLE if name[0].isalpha()} - UNGATED))

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="command-option",
        kind="command-password",
        why="Passwords given to programs: as the next word, glued to an option, with the user, or by their place.",
        pattern=re.compile(rf"(?<![\w.\-])(?P<program>{NAMES})(?:\.exe)?(?=[ \t])"),
        gate=gate(
            GATE_NAMES,
            "7z",
            "http -",
            "https -",
            "java -",
            "net user",
            "net use",
            "security ",
            "exp ",
            "imp ",
            "expo ",
            "dotnet ",
            "create-account ",
            "age-",
        ),
        finds=(
            "curl -u ci-bot:⟦{alnum:14}⟧ https://api.example.com/x",
            'curl -su "app:⟦{weak}⟧" build.example.org',
            "mysql -h db -u app -p⟦{alnum:16}⟧ -e 'select 1'",
            "sshpass -p ⟦{chosen}⟧ ssh root@nas",
            "docker login -u deploy -p ⟦{weak}⟧ reg.example.org",
            "redis-cli -h cache -a ⟦{chosen}⟧ ping",
            "openssl rsa -in k.pem -passin pass:⟦{signs:14}⟧ -out k2.pem",
            "htpasswd -bc /etc/nginx/htpasswd jana ⟦{alnum:18}⟧",
            "rabbitmqctl add_user root ⟦{chosen}⟧",
            "mc alias set backup https://s3.example.net AKIA_ID ⟦{b64:40}⟧",
            "smbclient //nas/share -U 'jana%⟦{chosen}⟧'",
            "7z x -p⟦{chosen}⟧ a.7z",
            "wget --http-user a --http-password '⟦{chosen}⟧' https://x",
            "ldapsearch -D cn=admin -w ⟦{chosen}⟧ -b dc=x",
            "nmcli dev wifi connect Office password ⟦{diceware:3}-35⟧",
            "sqlplus scott/⟦{chosen}⟧@db",
            "mysqladmin -u root password '⟦{alnum:18}⟧'",
            "xfreerdp /u:jana /p:⟦{chosen}⟧ /v:h",
        ),
        leaves=(
            "mysql -u root -p app",
            "ssh -p 2222 deploy@build.example.org",
            "docker run -p 8080:80 app",
            "curl -u admin https://api.example.com/",
            'curl -u "$USER:$PASS" https://api.example.com/',
            "cp -pr a b",
            "tar -xpf a.tar",
            "nmap -p 1-1024 10.0.0.1",
            "docker login -u USERNAME -p PASSWORD",
            "sshpass -p PASSWORD ssh user@host",
            "openssl rsa -passin file:/run/pw -in k.pem",
            "gpg --passphrase-fd 0 -d f.gpg",
            "vault kv get -field=password secret/web",
            "psql -h db -U app -W",
        ),
        worst="curl -u ",
        is_closed=True,
        validate=command,
        is_anchored=True,
    ),
    Rule(
        name="piped-password",
        kind="command-password",
        why="`echo X | sudo -S` and its kin.",
        pattern=re.compile(r"(?<![\w\-])(?:echo|printf|print|[Ww]rite-[Oo]utput)(?=[ \t])"),
        gate=gate("echo printf print write"),
        finds=(
            "echo '⟦{alnum:18}⟧' | sudo -S apt update",
            "echo 'jana:⟦{chosen}⟧' | chpasswd",
            "printf '%s' '⟦{chosen}⟧' | vncpasswd -f",
            'echo "⟦{chosen}⟧" | docker login -u a --password-stdin',
        ),
        leaves=(
            "echo $PASSWORD | docker login -u a --password-stdin",
            "echo hello | sudo tee /etc/motd",
            "echo '<password>' | sudo -S ls",
        ),
        worst="echo a | ",
        validate=piped,
        is_anchored=True,
    ),
    Rule(
        name="here-string",
        kind="command-password",
        why="`kinit jana <<< X`: the string is what the program reads.",
        pattern=re.compile(
            r"(?<![\w\-])(?:kinit|passwd|chpasswd|sudo -S|su|vncpasswd|smbpasswd|cryptsetup|gh auth login|docker login|podman login|saslpasswd2)(?=[ \t])[^\n<|;]{0,160}<<<[ \t]{0,4}"
        ),
        gate=gate("", "<<<"),
        finds=("kinit svc-mail <<< '⟦{signs:18}⟧'",),
        leaves=('kinit svc-mail <<< "$PW"', "cat <<< text"),
        worst="kinit ",
        validate=here_string,
    ),
    Rule(
        name="sql-password",
        kind="password",
        why="Statements that set a password.",
        pattern=re.compile(
            r"(?:identified[ \t]{1,8}(?:with[ \t]{1,8}[\w'\"]{1,40}[ \t]{1,8})?(?:by|as)(?:[ \t]{1,8}password)?|password(?:[ \t]{0,8}[(=]|[ \t]{1,8}for[ \t]{1,8}\S{1,60}[ \t]{0,8}=|(?=[ \t])))"
            r"[ \t]{0,8}n?(?:password\()?['\"](?P<s>[^'\"\r\n]{3,128})['\"]"
        ),
        gate=gate("identified password"),
        finds=(
            "GRANT ALL ON app.* TO 'app'@'%' IDENTIFIED BY '⟦{chosen}⟧';",
            "ALTER USER app WITH PASSWORD '⟦{alnum:18}⟧';",
            "CREATE LOGIN web WITH PASSWORD = '⟦{chosen}⟧'",
        ),
        leaves=("ALTER USER app WITH PASSWORD '<password>';", "IDENTIFIED BY 'password'"),
        worst="identified by ",
        validate=sql,
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
            r"(?:auth\s{0,2}=\s{0,2}\(|BasicAuth\(|basic_?auth\(|setBasicAuth\(|SetBasicAuth\(|PasswordAuthentication\(|PasswordCredentials?\(|NetworkCredential\(|\.(?:login|authenticate|logIn|signIn|auth)\(|(?:mysqli?_connect|pg_connect|oci_connect|getConnection|new PDO|new mysqli|createConnection|mysql_real_connect)\(\s{0,4}[^(),\n]{1,120},)\s{0,4}[burf]?[\"'][^\"'\n]{1,80}[\"']\s{0,4},\s{0,4}[burf]?[\"'](?P<s>[^\"'\n]{3,128})[\"']"
        ),
        gate=gate(
            "auth basicauth httpbasicauth setbasicauth passwordauthentication credential credentials networkcredential passwordcredential passwordcredentials authenticate login signin basic connect mysqli getconnection pdo createconnection"
        ),
        finds=(
            "requests.get(url, auth=('admin', '⟦{diceware:3}⟧'))",
            'smtp.login("bot@example.org", "⟦{chosen}⟧")',
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
        gate=gate("securestring oracle"),
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
            r"(?:snmp-server[ \t]{1,8}community|\br[ow]community6?|option[ \t]{1,8}key|wifi-iface\[\d\]\.key=|com2sec[ \t]{1,8}\S{1,30}[ \t]{1,8}\S{1,40})[ \t]{0,8}['\"]?(?P<s>[^\s'\"]{4,64})(?P<o>(?!))?"
        ),
        gate=gate("snmp rocommunity rwcommunity community option iface com sec"),
        finds=(
            "snmp-server community ⟦{chosen}⟧ RO",
            "option key '⟦{chosen}⟧'",
            "wireless.@wifi-iface[0].key='⟦{chosen}⟧'",
        ),
        leaves=("snmp-server community public RO", "rocommunity public", "option key '1'"),
        worst="option key ",
        validate=either,
    ),
)
