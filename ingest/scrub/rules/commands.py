"""Command lines. The same letter means another thing to each program (`-p` is a port for ssh and a password for sshpass),
so there is a table a program; `-p` without a value asks for it, and options that read a file or descriptor hold nothing.
"""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from functools import cache
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.programs import TABLE, Program
from ingest.scrub.shapes import is_random, looks_chosen
from ingest.scrub.shell import Word, command_words
from ingest.scrub.words import any_of

ASKS: Final = frozenset("user:password user:pass username:password".split())


@cache
def listed(words: str) -> tuple[str, ...]:
    """The entries of a column of the table."""
    return tuple(words.split())


def is_value(word: Word, *, drawn: bool = False) -> bool:
    text = word.text
    if len(text) < 3 or (text.startswith("-") and not word.quoted) or is_placeholder(text, quoted=word.quoted):
        return False
    if text.startswith(("$", "<", "@", "file:", "env:", "fd:", "stdin", "/dev/")) or text.lower() in ASKS:
        return False
    return not drawn or is_random(text, 16)


def is_dashed(text: str) -> bool:
    """Drawn, and begins with a dash by chance: no option has two digits among letters."""
    return (
        text[:1] == "-" != text[1:2]
        and len(text) > 8
        and "=" not in text
        and sum(map(str.isdigit, text)) > 1
        and is_random(text, 9)
        and not is_placeholder(text)
    )


def options(program: Program, words: list[Word]) -> list[Word]:
    """Secrets that an option carries, as its next word, glued to it, or after `=`."""
    alone, glued, pairs = listed(program.alone), listed(program.glued), listed(program.pairs)
    found = []
    for at, word in enumerate(words):
        if word.quoted and not word.text.startswith(glued or ("\0",)):
            continue
        following = words[at + 1] if at + 1 < len(words) else None
        option, equals, _ = word.text.partition("=")
        if option in alone:
            value = word.after(len(option) + 1) if equals else following
            if value and (is_value(value) or is_dashed(value.text)):
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
                if is_value(value) or is_dashed(value.text):
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
        verbs = listed(program.verbs)
        at = next((i for i, word in enumerate(words) if word.text in verbs), -1)
        if at < 0:
            return []
        words = words[at + 1 :]
    if program.wants and not any(re.fullmatch(r"-\w*" + program.wants + r"\w*", word.text) for word in words):
        return []
    takes = listed(program.takes)
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
            if (
                "://" not in word.text
                and (word.quoted or word.text[-1:] != ":")
                and not re.fullmatch(r"[\w.+-]+@[\w.-]+", word.text)
            ):
                found.append(word)
    return found


def command(match: re.Match[str], text: str) -> Spans:
    words = command_words(text, match.end(), match["program"])
    if not words:
        return NOTHING
    found: list[Word] = []
    for program in TABLE[match["program"]]:
        if program.verbs and not program.places and not any(word.text in listed(program.verbs) for word in words):
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


READING: Final = re.compile(
    r"(?<![\w\-])(?:kinit|passwd|chpasswd|sudo -S|su|vncpasswd|smbpasswd|cryptsetup|gh auth login|docker login|podman login|saslpasswd2|pass insert|openconnect|secret-tool store|slappasswd|age)(?=[ \t])[^\n<|;]{0,160}$"
)


def here_string(match: re.Match[str], text: str) -> Spans | None:
    program = READING.search(text, max(0, match.start() - 180), match.start())
    if not program:
        return None
    words = command_words(text, match.end())
    if not words or not is_value(words[0]):
        return NOTHING
    value = second_half(words[0], ":") if "chpasswd" in program[0] and ":" in words[0].text else words[0]
    return ((value.start, value.end),) if value else NOTHING


NAMES: Final = any_of(TABLE)
FOLLOWED: Final = {"http": " -", "https": " -", "java": " -", "net": " use"}
"""Words of every other text, which begin a command line only where this follows."""
LITERALS: Final = tuple(
    name + follows for name in TABLE for follows in ([FOLLOWED[name]] if name in FOLLOWED else [" ", "\t", ".exe"])
)

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="command-option",
        kind="command-password",
        why="Passwords given to programs: as the next word, glued to an option, with the user, or by their place.",
        pattern=re.compile(rf"(?<![\w.\-])(?P<program>{NAMES})(?:\.exe)?(?=[ \t])"),
        gate=gate("", *LITERALS),
        finds=(
            "curl -u ci-bot:⟦{alnum:14}⟧ https://api.example.com/x",
            'curl -su "app:⟦{weak}⟧" build.example.org',
            "mysql -h db -u app -p⟦{alnum:16}⟧ -e 'select 1'",
            "mysql -u app -p⟦-{lower:12}7x8⟧ shop",
            "sshpass -p ⟦-{lower:12}7x8⟧ ssh root@nas",
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
            "b2 account authorize {hex:25} ⟦K005{alnum:27}⟧",
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
            "sshpass -p -oStrictHostKeyChecking=no",
        ),
        worst="curl -u ",
        validate=command,
        is_anchored=True,
    ),
    Rule(
        name="piped-password",
        kind="command-password",
        why="`echo X | sudo -S` and its kin.",
        pattern=re.compile(r"(?<![\w\-])(?:echo|printf|print|[Ww]rite-[Oo]utput)(?=[ \t])"),
        gate=gate("", "echo ", "echo\t", "printf ", "printf\t", "print ", "print\t", "write-output "),
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
        pattern=re.compile(r"<<<[ \t]{0,4}"),
        gate=gate("<<<"),
        is_anchored=True,
        finds=("kinit svc-mail <<< '⟦{signs:18}⟧'",),
        leaves=('kinit svc-mail <<< "$PW"', "cat <<< text"),
        worst="kinit ",
        validate=here_string,
    ),
)
