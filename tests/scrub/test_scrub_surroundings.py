"""Kinds of credentials in every kind of surroundings: each value drawn anew, each wrapping with each kind in turn.

And their look-alikes, which stay. `\\n` and `\\t` are a line end and a tab.
"""

import re
from itertools import cycle

import pytest

from ingest.scrub import scrub
from ingest.scrub.samples import Sample, sample

SHAPES = """
sk-ant-api03-{url64:93}AA
{github:ghp_}
glpat-{alnum:20}
{synapse:syt_}
{mas:mct_}
AKIA{base32:16}
xoxb-{digits:12}-{digits:13}-{alnum:24}
sk_live_{alnum:24}
npm_{alnum:36}
hvs.{alnum:24}
{jwt}
dop_v1_{hex:64}
tskey-auth-{alnum:17}-{alnum:32}
AGE-SECRET-KEY-1{upper:58}
pul-{hex:40}
""".strip().split("\n")
AROUND_SHAPES = r"""
⟦{}⟧
_⟦{}⟧_
__⟦{}⟧__
~~⟦{}⟧~~
||⟦{}⟧||
„⟦{}⟧“
👉⟦{}⟧
%22⟦{}⟧%22
&quot;⟦{}⟧&quot;
\"⟦{}⟧\"
'-⟦{}⟧
+⟦{}⟧
#⟦{}⟧
zneplatněte prosím ⟦{}⟧, unikl mi
{{"name": "TOKEN", "value": "⟦{}⟧"}}
""".strip().split("\n")

VALUES = ["{chosen}", "{alnum:16}1a", "{signs:14}1a", "{hex:32}"]
AROUND_PASSWORDS = r"""
DB_PASSWORD: \u200b⟦{}⟧
{{"name":"DB_PASSWORD","value":"⟦{}⟧"}}
{{ "key": "DB_PASSWORD", "value": "⟦{}⟧" }}
DB_PASSWORD:\n  value: ⟦{}⟧
SMTP_PASSWORD=\\\n⟦{}⟧
password%3D⟦{}⟧%26user%3Djana
heslem ⟦{}⟧ se přihlásíš
heslo zůstává ⟦{}⟧
das Passwort bleibt ⟦{}⟧
password for jana@example.org: ⟦{}⟧
heslo pro db1.example.org je ⟦{}⟧
Username/Password: admin/⟦{}⟧
uživatel/heslo: admin / ⟦{}⟧
u: admin p: ⟦{}⟧
jdbc:sqlserver://db:1433;user=sa;password=⟦{}⟧;encrypt=true
INSERT INTO users (name, mail, pass) VALUES ('jana', 'a@example.org', '⟦q{}Z⟧'), ('petr', NULL, '⟦{}Q⟧');
| host | login | heslo |\n|:--|:-:|--:|\n| db1 | root | `⟦{}⟧` |\n| db2 | root | ⟦{}⟧ |
auth_pass ⟦{}⟧
smtp_sasl_password_maps = static:jana:⟦{}⟧
radius-server host 10.0.0.1 auth-port 1812 key ⟦{}⟧
jana : XAUTH "⟦{}⟧"
pass insert web/x <<< ⟦{}⟧
drush user:password jana "⟦{}⟧"
gitea admin user change-password -u jana -p ⟦{}⟧
""".strip("\n").split("\n")

LONE = r"""
пароль от сервера ⟦{alnum:14}7Q⟧
the default password, ⟦{alnum:13}7Qx⟧, still works
user jana, password ⟦{alnum:13}7Qx⟧
ssh root@10.0.0.5 / ⟦{alnum:14}7Q⟧
kubeadm token create ⟦{lower:6}.{lower:13}k7q⟧
TOKEN   TTL\n⟦{lower:6}.{lower:13}k7q⟧   23h   2026-01-02T10:00:00Z   authentication,signing
telegram:\n  api_id: 123456\n  api_hash: ⟦{hex:32}⟧
MAPTILER_KEY=⟦a7B{alnum:20}8⟧
cephKey: ⟦AQ{b64:30}7xQ9wL==⟧
"identity_secret": "⟦{b64:27}=⟧"
RABBITMQ_ERLANG_COOKIE=⟦{alnum:20}⟧
wandb login ⟦{hex:40}⟧
curl https://api.example.org/weather?appid=⟦{hex:32}⟧
https://⟦{hex:32}⟧:⟦{hex:32}⟧@errors.example.org/2
redis://:⟦{lower:6}?{digits:4}⟧@cache:6379/0
""".strip().split("\n")

ALIKE = r"""
private_key: Ed25519PrivateKey | Ed448PrivateKey
RSAPrivateKey = rfc3447.RSAPrivateKey
def test_writingToIPv6OnIPv4RaisesInvalidAddressError(self):
rng.seed(0x4d3d3d3)
int CMS_decrypt_set1_password(CMS_ContentInfo *cms, unsigned char *pass);
return getPassword("Encryption passphrase: ")
SIGNATURE_HMAC_SHA256 = "HMAC-SHA256"
| GitHub | Secret | HMAC-SHA256 of the body |
new upstream signing key {HEX:40}
<code>{{ psk: &#x3C;Buffer>, identity: &#x3C;string></code>
username: alias1, alias2, alias3
password += b"\x00"
self._passphrase_userdata = userdata
password = "md5{hex:32}"
Sec-WebSocket-Key: {b64:22}==
NEXT_PUBLIC_POSTHOG_KEY=phc_{alnum:43}
oauth_consumer_key="{alnum:25}"
token_accessor {alnum:24}
sort_key={alnum:24}
<a href="mailto:team-l10n2@example.org">
encode(prefix + "auth_chain.item", use_float=True, psk=psk)
napi_create_bigint_int64
sk-ssh-ed25519-cert-v01@openssh.com AAAA
gpg: bad passphrase.\n\t* g10/mainproc.c (proc_symkey): Issue new error code.\n
(pass `asn1Spec` to guide the decoder
heslo k serveru db-prod-2 má Petr
the password for db1.example.org is in the vault
export SSHPASS; sshpass -e scp a root@web1:
sed -i 's/^DB_PASSWORD=.*/DB_PASSWORD=changeme/' .env
v2.{alnum:6}.{lower:16}.js
root@web1:~# systemctl restart matrix-synapse2
admin@example.org: RFC-5322
printf 'password=%s' "$PASSWORD"
""".strip("\n").split("\n")


def written(template: str) -> str:
    return template.replace("\\u200b", "\u200b").replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")


def parted(planted: Sample) -> str:
    text = planted.text
    for secret in sorted(planted.secrets, key=len, reverse=True):
        text = text.replace(secret, "\0")
    return text


def assert_found(template: str, seeds: range) -> None:
    for seed in seeds:
        planted = sample(written(template), seed)
        scrubbed = scrub(planted.text)
        assert re.sub("‹redacted:[^›]*›", "\0", scrubbed) == parted(planted)
        assert scrub(scrubbed) == scrubbed


def crossed(around: list[str], values: list[str], each: int) -> list[str]:
    """Every wrapping with `each` values, which take turns, so that all of them come up."""
    turns = cycle(values)
    return [
        wrapping.replace("{}", next(turns)).replace("{{", "{").replace("}}", "}")
        for wrapping in around
        for _ in range(each)
    ]


@pytest.mark.parametrize("template", crossed(AROUND_SHAPES, SHAPES, 4), ids=ascii)
def test_a_token_with_a_prefix_goes_whatever_is_around_it(template: str) -> None:
    assert_found(template, range(2))


@pytest.mark.parametrize("template", crossed(AROUND_PASSWORDS, VALUES[:3], 3), ids=ascii)
def test_a_password_goes_where_its_surroundings_say_that_it_is_one(template: str) -> None:
    assert_found(template, range(3))


@pytest.mark.parametrize("template", LONE, ids=ascii)
def test_what_only_its_name_or_place_tells_goes(template: str) -> None:
    assert_found(template, range(5))


@pytest.mark.parametrize("template", ALIKE, ids=ascii)
def test_what_looks_alike_stays(template: str) -> None:
    for seed in range(3):
        text = sample(template, seed).text.replace("\\n", "\n").replace("\\t", "\t")
        assert scrub(text) == text


def test_an_invisible_character_inside_of_a_token_saves_no_part_of_it() -> None:
    planted = sample("⟦{github:ghp_}⟧")
    token = planted.secrets[0]
    scrubbed = scrub(f"see {token[:24]}\u200b{token[24:30]}7{token[30:]} there")
    assert all(token[at : at + 6] not in scrubbed for at in range(len(token) - 5) if at + 6 <= 24 or at >= 24)


def test_rows_of_a_dump_lose_passwords_and_keep_hashes_and_the_rest() -> None:
    planted = sample(
        "COPY app.users (id, name, password, password_hash) FROM stdin;\n"
        "1\tjana\t⟦{chosen}⟧\t$2b$12${alnum:53}\n2\tpetr\t\\N\t{hex:64}\n\\.\nSELECT 1;\n"
    )
    assert scrub(planted.text) == planted.text.replace(planted.secrets[0], "‹redacted:password›")


def test_each_code_of_a_list_has_a_marker_of_its_own() -> None:
    planted = sample("záložní kódy:\n- ⟦{lower:4}7-{lower:5}⟧\n- ⟦{lower:5}-{lower:4}7⟧\n- ⟦{letters:5}-{letters:5}⟧\n")
    assert scrub(planted.text) == "záložní kódy:\n" + "- ‹redacted:recovery-code›\n" * 3


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    [
        "| password |\n|---|\n",
        "a,password\n",
        "insert into a (b,password) values ('''",
        "copy a (b, password) from stdin;\n1\t2\n",
        "password for a.b.",
        "recovery codes aaaa-",
        "user a on ~a ",
        "u: a p: ",
        "-----BEGIN%20",
        "secret\u200b",
        "password\u200b",
        "password%3D",
    ],
    ids=ascii,
)
def test_hostile_rows_and_lists_cost_no_more_than_long_ones(piece: str) -> None:
    scrub(piece * (120_000 // len(piece)))
