"""Wording, languages, configuration syntaxes and command lines: what people write around a credential.

Each line is a template of `ingest.scrub.samples`; `\\n` and `\\t` are a line end and a tab.
"""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import re

import pytest

from ingest.scrub import scrub
from ingest.scrub.samples import sample

TEMPLATES = r"""
mot de passe : ⟦{chosen}⟧
le mot de passe du serveur est ⟦{chosen}⟧
Le mdp c'est ⟦{chosen}⟧
la password è ⟦{chosen}⟧
La password del wifi è ⟦{chosen}⟧, non dirla a nessuno
parola d'ordine: ⟦{chosen}⟧
a senha do banco é ⟦{chosen}⟧
Senha: ⟦{chosen}⟧
palavra-passe: ⟦{chosen}⟧
hasło do bazy: ⟦{chosen}⟧
Hasło to ⟦{chosen}⟧
wachtwoord: ⟦{chosen}⟧
het wachtwoord is ⟦{chosen}⟧
lösenordet är ⟦{chosen}⟧
Lösenord: ⟦{chosen}⟧
adgangskode: ⟦{chosen}⟧
passordet er ⟦{chosen}⟧
salasana on ⟦{chosen}⟧
jelszó: ⟦{chosen}⟧
a jelszó ⟦{chosen}⟧
parola este ⟦{chosen}⟧
şifre: ⟦{chosen}⟧
parola ⟦{chosen}⟧ olarak ayarlandı
lozinka: ⟦{chosen}⟧
geslo je ⟦{chosen}⟧
пароль: ⟦{chosen}⟧
пароль от базы — ⟦{chosen}⟧
Пароль для wifi: ⟦{chosen}⟧
парола: ⟦{chosen}⟧
κωδικός: ⟦{chosen}⟧
パスワード：⟦{chosen}⟧
密码是⟦{chosen}⟧
密碼: ⟦{chosen}⟧
비밀번호: ⟦{chosen}⟧
비밀번호는 ⟦{chosen}⟧ 입니다
mật khẩu: ⟦{chosen}⟧
kata sandi: ⟦{chosen}⟧
كلمة المرور: ⟦{chosen}⟧
סיסמה: ⟦{chosen}⟧
heslo na server je ⟦{chosen}⟧
přihlášení: admin / ⟦{chosen}⟧
heslo je "⟦{weak}⟧"
Zugang: admin / ⟦{chosen}⟧
Das WLAN-Passwort ist ⟦{chosen}⟧
WLAN-Schlüssel: ⟦{chosen}⟧
API-Schlüssel: ⟦{alnum:32}⟧
API klíč: ⟦{hex:32}⟧
clé API : ⟦{hex:32}⟧
clave de API: ⟦{hex:32}⟧
chiave API: ⟦{hex:32}⟧
klucz API: ⟦{hex:32}⟧
API ключ: ⟦{hex:32}⟧
APIキー: ⟦{hex:32}⟧
token je ⟦{alnum:40}⟧
tady je token: ⟦{hex:40}⟧
db.password=⟦{chosen}⟧
spring.datasource.password: ⟦{chosen}⟧
quarkus.datasource.password=⟦{weak}⟧
<property name="password" value="⟦{chosen}⟧"/>
<entry key="smtp.password">⟦{chosen}⟧</entry>
<key>Password</key>\n<string>⟦{chosen}⟧</string>
password => "⟦{chosen}⟧",
:password => '⟦{chosen}⟧'
password: "⟦{weak}⟧",
"db_password" = "⟦{chosen}⟧"
set password ⟦{chosen}⟧
CREATE USER 'app'@'%' IDENTIFIED WITH mysql_native_password BY '⟦{chosen}⟧';
CREATE ROLE app LOGIN PASSWORD '⟦{weak}⟧';
enable secret 0 ⟦{chosen}⟧
username admin password 0 ⟦{chosen}⟧
snmp-server community ⟦{chosen}⟧ RO
psk=⟦{chosen}⟧
wpa_psk: ⟦{chosen}⟧
wireless.@wifi-iface[0].key='⟦{chosen}⟧'
option key '⟦{chosen}⟧'
bindpw: ⟦{chosen}⟧
rootpw ⟦{chosen}⟧
olcRootPW: ⟦{chosen}⟧
ldap_bind_password = ⟦{chosen}⟧
smtp_password = "⟦{chosen}⟧"
MAIL_PASSWORD=⟦{chosen}⟧
RABBITMQ_DEFAULT_PASS=⟦{weak}⟧
MINIO_ROOT_PASSWORD: ⟦{weak}⟧
- MYSQL_PASSWORD=⟦{weak}⟧
      - "POSTGRES_PASSWORD=⟦{chosen}⟧"
docker run -e MYSQL_ROOT_PASSWORD=⟦{weak}⟧ -d mysql
docker run -e 'SA_PASSWORD=⟦{chosen}⟧' mssql
helm install x --set auth.password=⟦{chosen}⟧,foo=1
helm install x --set auth.password=⟦{weak}⟧
kubectl create secret generic db --from-literal=password=⟦{chosen}⟧
ansible-playbook -e "ansible_become_pass=⟦{chosen}⟧" site.yml
curl -H "X-Auth-Key: ⟦{hex:37}⟧" https://api
curl -H "PRIVATE-TOKEN: ⟦{url64:20}⟧" https://git
curl -H "DD-API-KEY: ⟦{hex:32}⟧"
curl -d 'grant_type=password&username=a&password=⟦{chosen}⟧' https://x
curl -d '{"user":"a","password":"⟦{weak}⟧"}' https://x
curl --data-urlencode "password=⟦{chosen}⟧" https://x
http POST x password=⟦{chosen}⟧
Cookie: session=⟦{url64:40}⟧
Set-Cookie: connect.sid=⟦s%3A{alnum:32}.{alnum:40}⟧; Path=/
sudo -S <<< "⟦{chosen}⟧" apt update
PGPASSWORD=⟦{chosen}⟧ psql -h db
export PGPASSWORD='⟦{weak}⟧'
set PGPASSWORD=⟦{weak}⟧
setx API_KEY ⟦{alnum:32}⟧
$env:DB_PASSWORD = '⟦{chosen}⟧'
ConvertTo-SecureString "⟦{chosen}⟧" -AsPlainText -Force
net user jana ⟦{chosen}⟧ /add
mount -t cifs //nas/share /mnt -o username=jana,password=⟦{chosen}⟧
ipmitool -H h -U admin -P ⟦{chosen}⟧ power on
mosquitto_pub -h h -u a -P ⟦{chosen}⟧ -t x
ldapsearch -x -D cn=a -w '⟦{chosen}⟧'
smbclient //h/s -U a%⟦{chosen}⟧
zip -P ⟦{chosen}⟧ a.zip b
7z a -p⟦{chosen}⟧ a.7z b
unrar x -p⟦{chosen}⟧ a.rar
gpg --batch --yes --passphrase=⟦{chosen}⟧ -c f
openssl enc -aes-256-cbc -k ⟦{chosen}⟧ -in a
openssl pkcs12 -export -passout pass:⟦{weak}⟧ -in a
keytool -genkey -storepass ⟦{chosen}⟧ -keypass ⟦{chosen}⟧
ssh-keygen -t ed25519 -N '⟦{chosen}⟧' -f k
svn co --username a --password ⟦{chosen}⟧ https://x
lftp -u jana,⟦{chosen}⟧ ftp.example.org
ftp://jana:⟦{chosen}⟧@ftp.example.org/
sftp://jana:⟦{chosen}⟧@h:22/x
imaps://jana%40example.org:⟦{alnum:12}⟧@mail.example.org
smtps://a:⟦{alnum:12}⟧@mail:465
ldaps://cn=admin:⟦{alnum:12}⟧@ldap
clickhouse://default:⟦{alnum:12}⟧@h:9000/db
jdbc:mysql://h/db?user=root&password=⟦{chosen}⟧
jdbc:oracle:thin:scott/⟦{chosen}⟧@//h:1521/x
mssql://sa:⟦{chosen}⟧@h/db
Data Source=h;Initial Catalog=x;User ID=sa;Pwd=⟦{chosen}⟧;
nats://user:⟦{alnum:12}⟧@h:4222
mqtt://u:⟦{alnum:12}⟧@h
vnc password is ⟦{chosen}⟧
the wifi is Office / ⟦{chosen}⟧
wifi password = ⟦{chosen}⟧
Guest WiFi: SSID Guest, Password ⟦{chosen}⟧
pw: ⟦{chosen}⟧
pwd = ⟦{weak}⟧
user: jana pw: ⟦{chosen}⟧
login jana / ⟦{chosen}⟧
root / ⟦{chosen}⟧
admin:⟦{chosen}⟧
user jana, password ⟦{chosen}⟧
it's ⟦{chosen}⟧ (the password)
use ⟦{chosen}⟧ as password
I changed the password to ⟦{chosen}⟧
password changed to ⟦{chosen}⟧
new password: ⟦{chosen}⟧
temporary password is ⟦{chosen}⟧
your temporary password is: ⟦{chosen}⟧
initial admin password: ⟦{hex:32}⟧
passphrase for the key: ⟦{diceware:5, }⟧
the passphrase is "⟦{diceware:4, }⟧"
Your token is:\n\n⟦{hex:40}⟧
API key\n⟦{alnum:32}⟧
Here's the key: ⟦{alnum:40}⟧
the api key for openweather is ⟦{hex:32}⟧
OPENWEATHER_API_KEY = "⟦{hex:32}⟧"
algolia admin key ⟦{hex:32}⟧
Twilio auth token ⟦{hex:32}⟧
consumer_secret: ⟦{alnum:50}⟧
app_secret="⟦{hex:32}⟧"
aws_session_token=⟦{b64:200}⟧
"accessKeySecret": "⟦{alnum:30}⟧"
secret_key_base: ⟦{hex:128}⟧
cookie_secret = "⟦{alnum:32}⟧"
JWT_SECRET=⟦{chosen}⟧
encryption_key = "⟦{b64:43}=⟧"
signing_secret: ⟦{hex:32}⟧
webhook_secret: "⟦{hex:40}⟧"
ETH_PRIVATE_KEY=⟦{hex:64}⟧
MATRIX_PASSWORD: "⟦{weak}⟧"
registration_shared_secret: "⟦{signs:50}⟧"
TURN_SECRET=⟦{alnum:40}⟧
hs_token: ⟦{hex:64}⟧
form_secret: "⟦{signs:50}⟧"
_authToken=⟦{uuid}⟧
//registry.example.org/:_password="⟦{b64:24}⟧"
"auth": "⟦{basic}⟧"
.dockerconfigjson: ⟦eyJhdXRocyI6{b64:80}⟧
machine api.example.org\n  login jana\n  password ⟦{chosen}⟧
[api]\ntoken = ⟦{alnum:32}⟧
token: !!str ⟦{hex:40}⟧
datadog:\n  api_key: ⟦{hex:32}⟧
Authorization: ApiKey ⟦{b64:60}==⟧
Authorization: ⟦{alnum:40}⟧
x-api-key: ⟦{alnum:40}⟧
X-Amz-Security-Token: ⟦{b64:200}⟧
https://storage.example.org/x?GoogleAccessId=a&Expires=1&Signature=⟦{alnum:80}%3D⟧
https://example.org/reset?token=⟦{url64:30}⟧
https://user:⟦{hex:40}⟧@git.example.org/a.git
git clone https://⟦{hex:40}⟧@git.example.org/a.git
https://gitlab-ci-token:⟦{alnum:20}⟧@gitlab.example.org/a.git
Bearer ⟦{url64:40}⟧
token ⟦{hex:40}⟧
The bot's access token is ⟦{alnum:40}⟧.
matrix token: `⟦{alnum:64}⟧`
"password": null, "token": "⟦{hex:32}⟧"
'secret': b'⟦{alnum:24}⟧'
SECRET_KEY = b"⟦{alnum:24}⟧"
password: >-\n  ⟦{chosen}⟧
password: |\n  ⟦{chosen}⟧
tls-auth inline: <tls-auth>\n-----BEGIN OpenVPN Static key V1-----\n⟦{hex:32}\n{hex:32}⟧\n-----END OpenVPN Static key V1-----
(the pass is ⟦{chosen}⟧)
pass = ⟦{chosen}⟧
PASS=⟦{chosen}⟧
Passphrase:⟦{chosen}⟧
Password:\t⟦{chosen}⟧
Password :⟦{chosen}⟧
*Password:* ⟦{chosen}⟧
**Password:** `⟦{chosen}⟧`
| Password | ⟦{chosen}⟧ |
<td>Password</td><td>⟦{chosen}⟧</td>
<b>Password:</b> ⟦{chosen}⟧
- password: ⟦{chosen}⟧ # change
password=⟦{chosen}⟧&next=1
{password: '⟦{weak}⟧'}
db = connect(host='h', password="⟦{weak}⟧")
new Client({ token: '⟦{alnum:40}⟧' })
mysqli_connect("localhost", "root", "⟦{chosen}⟧", "db")
new PDO('mysql:host=h', 'root', '⟦{chosen}⟧')
DriverManager.getConnection(url, "sa", "⟦{chosen}⟧")
psycopg2.connect("dbname=x user=y password=⟦{chosen}⟧")
os.environ["API_KEY"] = "⟦{alnum:32}⟧"
process.env.API_KEY = '⟦{alnum:32}⟧'
os.Setenv("DB_PASSWORD", "⟦{chosen}⟧")
putenv('DB_PASSWORD=⟦{chosen}⟧');
define('DB_PASSWORD', '⟦{weak}⟧');
$config['db_password'] = '⟦{chosen}⟧';
const PASSWORD = "⟦{weak}⟧"
String password = "⟦{weak}⟧";
char *password = "⟦{weak}⟧";
let password: String = "⟦{weak}⟧".to_string();
val password = "⟦{weak}⟧"
password := "⟦{weak}⟧"
(setq erc-password "⟦{chosen}⟧")
(def password "⟦{chosen}⟧")
""".strip().split("\n")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template[:70].encode("unicode_escape").decode())
def test_the_credential_goes_and_the_words_around_it_stay(template: str) -> None:
    for seed in range(3):
        written = template.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
        planted = sample(written, seed)
        left = planted.text
        for secret in sorted(planted.secrets, key=len, reverse=True):
            left = left.replace(secret, "\0")
        assert re.sub("‹redacted:[^›]*›", "\0", scrub(planted.text)) == left


QUIET = r"""
the password policy requires 12 characters, SHA-256 and a salt
password hashing: argon2id, bcrypt (cost 12), PBKDF2-SHA512
heslo musí mít aspoň 12 znaků, jedno číslo a jeden znak
Das Passwort muss mindestens 12 Zeichen lang sein
la contraseña debe tener 8 caracteres
le mot de passe doit contenir 12 caractères
hasło musi mieć 12 znaków
пароль должен содержать 12 символов
password reset link was sent to jana@example.org at 10:42
I forgot my password again, second time in 2026
the secret of room 4B-12 is that it has no window
token bucket: 100 requests per minute
MAX_TOKENS=4096
tokenizer: bert-base-uncased
key: value
primary_key: id
foreign_key: user_id
sort_key: created_at_desc
ssh_public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI
password_reset_timeout: 3600
password_min_length: 12
passwordless login via magic link
pass --help
npm run test -- --pass-with-no-tests
docker run -p 8080:80 -e PASSWORD_FILE=/run/secrets/pw app
mysql --user=root --password
ssh -p 2222 -i ~/.ssh/id_ed25519 host
curl -u "$USER:$TOKEN" https://api.example.org
const password = process.env.DB_PASSWORD
password: str = Field(..., min_length=8)
password = input("Password: ")
if password == confirm_password:
secretKeyRef: {name: db, key: password}
secretName: web-tls
existingSecret: my-release-postgresql
token: ${{ secrets.GITHUB_TOKEN }}
password: !vault |
password: "{{ vault_db_password }}"
password_hash: $2b$12$abcdefghijklmnopqrstuv
api_key: <your api key>
apiKey: YOUR_API_KEY
Authorization: Bearer {{token}}
Authorization: Bearer <jwt>
https://user:password@example.org/
https://example.org/callback?code=200&state=open
https://example.org/?key=name
the wifi is down, room 4B is offline since 10:42
admin:x:1000:1000::/home/admin:/bin/bash
root:root
login: jana@example.org
user: jana, role: admin2
the pass mark is 60%
Pass 2 of 3 completed in 4.2s
PASS tests/scrub/test_scrub_rules.py
seed: 42
random_seed = 1234567
session: 2026-01-14 10:30
cookie: consent=accepted
pin_memory=True
bot: @helper2:example.org
key=lambda item: item[1]
keys: [ctrl+alt+t, super+2]
signature: int -> str
integrity sha512-{b64:86}==
i-0{hex:16} is running in eu-west-1
arn:aws:iam::123456789012:role/deploy-{hex:8}
ami-0{hex:16}
https://docs.google.com/document/d/1{url64:43}/edit
https://www.youtube.com/watch?v={url64:11}&t=42s
https://discord.gg/{alnum:8}
https://t.me/+{url64:16}
https://open.spotify.com/track/{alnum:22}?si={hex:16}
https://zoom.us/j/{digits:11}
https://github.com/org/repo/commit/{hex:40}
https://github.com/org/repo/blob/{hex:40}/src/main.rs#L10
https://gist.github.com/user/{hex:32}
https://pastebin.com/{alnum:8}
https://imgur.com/a/{alnum:7}
https://i.imgur.com/{alnum:7}.png
https://cdn.discordapp.com/attachments/{digits:18}/{digits:18}/image.png
https://codeberg.org/user/repo/src/commit/{hex:40}/README.md
https://hub.docker.com/layers/library/nginx/latest/images/sha256-{hex:64}
ghcr.io/org/app@sha256:{hex:64}
docker pull nginx@sha256:{hex:64}
CONTAINER ID: {hex:12}
0x{hex:40}
bc1q{lower:38}
1{base58:33}
IBAN CZ65 0800 0000 1920 0014 5399
{HEX:4} {HEX:4} {HEX:4} {HEX:4} {HEX:4}  {HEX:4} {HEX:4} {HEX:4} {HEX:4} {HEX:4}
Key fingerprint = {HEX:4} {HEX:4} {HEX:4} {HEX:4} {HEX:4}  {HEX:4} {HEX:4} {HEX:4} {HEX:4} {HEX:4}
SHA256:{b64:43} root@host (RSA)
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ{b64:340} me@host
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABB{b64:88}
client_id: {digits:12}-{lower:32}.apps.googleusercontent.com
"client_id": "{uuid}"
client-id={alnum:20}
tenant_id = {uuid}
data-sitekey="6L{url64:38}"
publishable key: pk_live_{alnum:24}
pk_test_{alnum:24}
VAPID public key: B{url64:86}
public_key = "{b64:44}"
publicKey: {hex:64}
"verify_keys": {"ed25519:a_{alnum:4}": {"key": "{b64:43}"}}
"sender_key": "{b64:43}", "session_id": "{b64:43}"
"device_keys": {"keys": {"curve25519:ABCDEFGHIJ": "{b64:43}"}}
etag: "{hex:32}"
x-request-id: {uuid}
x-amz-request-id: {upper:16}
trace_id={hex:32} span_id={hex:16}
traceparent: 00-{hex:32}-{hex:16}-01
cf-ray: {hex:16}-PRG
request {uuid} failed
session {uuid} closed
nonce-{b64:22}==
Content-Security-Policy: script-src 'nonce-{b64:24}'
boundary=----WebKitFormBoundary{alnum:16}
Message-ID: <{alnum:20}@mail.example.org>
DKIM-Signature: v=1; a=rsa-sha256; bh={b64:43}=; b={b64:172}
v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA{b64:200}
google-site-verification={url64:43}
docker.io/library/postgres:16.4-alpine3.20
app-7d9f8b6c5-x2x9q
go.sum: github.com/a/b v1.2.3 h1:{b64:43}=
Cargo.lock checksum = "{hex:64}"
yarn: resolved "https://registry.example.org/a/-/a-1.0.0.tgz#{hex:40}"
nix: sha256-{b64:43}=
/nix/store/{lower:32}-hello-2.12.1
magnet:?xt=urn:btih:{hex:40}
{hex:64}  file.tar.gz
md5 {hex:32}
$2b$12$ hashes are fine
root:$6${alnum:16}${b64:86}:19000:0:99999:7:::
password_hash = "$argon2id$v=19$m=65536,t=3,p=4${b64:22}${b64:43}"
htpasswd: jana:$apr1${alnum:8}${alnum:22}
hash: {hex:64}
etherscan tx 0x{hex:64}
UUID={uuid} / ext4 defaults 0 1
serial: {upper:12}
IMEI 490154203237518
order {upper:10} was shipped
booking {upper:6}
model XPS-13-9310, BIOS 1.2.3
kernel 6.8.0-45-generic #45-Ubuntu SMP
[    0.000000] Command line: BOOT_IMAGE=/vmlinuz-6.8.0-45 root=UUID={uuid} ro quiet
Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0
2026-05-27T03:18:55.123Z
tokens used: 1532 of 4096
{"usage": {"prompt_tokens": 12, "completion_tokens": 345}}
total_tokens=1234567
next_page_token: {url64:40}
nextPageToken={b64:40}
"continuation": "{b64:60}"
cursor={b64:40}
sync token s123_456_789
since=s{digits:7}_{digits:8}_0_1_55_1_1_3_0_1
csrf_token="{{ csrf_token() }}"
<input type="password" name="password" placeholder="Password">
<input type="hidden" name="csrf" value="">
password: '***'
password: xxxxxxxx
password: [REDACTED]
password: <redacted>
Password: ••••••••
password = ""
password = None
password=$PASSWORD
password=${PASSWORD}
password=%PASSWORD%
password=$(cat /run/secrets/pw)
password={{ password }}
password=#{ENV["PASSWORD"]}
password = os.getenv("DB_PASSWORD")
password = ENV.fetch("PASSWORD")
password = System.getenv("PASSWORD")
password := os.Getenv("PASSWORD")
password = config["password"]
password = var.db_password
password = data.vault_generic_secret.db.data["password"]
password: op://vault/item/password
password: "{{ lookup('env', 'PASSWORD') }}"
password: !secret mqtt_password
password: !ENV PASSWORD
password_file: /run/secrets/x
passwordSecretRef: db
token: process.env.TOKEN,
token: Deno.env.get("TOKEN")
token: string;
token?: string
let token: Option<String> = None;
private String password;
public string Password { get; set; }
def set_password(self, raw_password):
user.password = hash_password(password)
assert password != old_password
return self._token
if token is None: raise ValueError("token missing")
raise AuthError("invalid token for user admin1")
log.info("password changed", user=user.id)
expect(password).toHaveLength(12)
Type your password:
Enter passphrase for key '/home/a/.ssh/id_ed25519':
Enter PEM pass phrase:
[sudo] password for jana:
password must contain at least 1 digit and 1 symbol (!@#$%)
Your password will expire in 14 days
You can reset it at https://example.org/reset?lang=cs
the default password is blank
the default user/password is documented in docs/setup.md
there is no password, just press enter
the password is the same as for wifi
password is case sensitive
password is 8-16 chars
the password is longer than 64 bytes
the token is a JWT (RS256)
the token is valid for 3600 seconds
token type: bearer
Bearer authentication is described in RFC 6750
Basic dXNlcjpwYXNz is user:pass in base64
basic setup in 5 minutes
secret santa is on 2026-12-18
the secret sauce v2
no secrets here, move along
secrets: 12, leaked: 0
secret scanning alert #42 was closed
key: ctrl+shift+p
key points 1-3
keyboard: ThinkPad TrackPoint II
keyframe 120
keycloak 26.0.1
hotkey=F12
primary key (id, created_at)
KEY idx_user_created (user_id, created_at)
foreign key constraint fk_user_2
partition key: tenant#42
cache key: v3-linux-{hex:64}
sort key 2026-01-01#abc
API key rotation is due on 2026-02-01
api keys expire after 90 days
apikey header is called X-Api-Key
access key id looks like AKIA followed by 16 characters
SSH key added: SHA256:{b64:43}
gpg --recv-keys 0x{HEX:16}
signed-by=/usr/share/keyrings/docker.asc
apt-key adv --keyserver keyserver.ubuntu.com --recv-keys {HEX:40}
host key verification failed
PublicKey = {b64:43}=
wg pubkey < privatekey
license: MIT
license key please? ask Jana
pin 4 is ground
PIN code is on the card
seed=42
seed: 1234567890
recovery mode
backup codes are printed on paper
auth.log, line 1042
auth: none
auth_basic off
authkey is set in /etc/default/x
authorized_keys has 3 entries
OAuth2 with PKCE (S256)
2FA with TOTP, 6 digits
otp: 123456 has expired
sid=S-1-5-21-{digits:10}-{digits:10}-{digits:10}-1001
session=closed
cookie: theme=dark; lang=cs
Cookie: _ga=GA1.2.{digits:9}.{digits:10}
admin: jana2@example.org
root: /srv/data2
login: 2026-01-14 10:30:00
user: app2, host: db1
account: 4711/2026
credentials: stored in Vault v2
přihlášení: přes SSO (OIDC 1.0)
heslo: viz trezor
heslo: 12+ znaků
heslo bylo změněno 14.1.2026
Passwort: siehe Tresor
Passwort: min. 12 Zeichen
contraseña: ver el manual 2
mot de passe : voir le coffre
пароль: смотри в хранилище
密码：见文档
wifi: eduroam, 802.1X
ssid: Office5G
psk: see vault
curl -u jana https://example.org
curl -H "Authorization: Bearer $TOKEN" https://example.org
curl https://example.org/api?key=$KEY
mysql -u root -p < dump.sql
mysql -h db1 -P 3307 -u app -p app_db
docker run -p 5432:5432 -e POSTGRES_PASSWORD_FILE=/run/pw postgres:16
docker login ghcr.io -u jana --password-stdin
sshpass -f /run/pw ssh host
ssh -p 2222 host
scp -P 2222 a b
psql -h db -p 5432 -U app
redis-cli -h cache -p 6379 ping
mkdir -p a/b
cp -p a b
tar -xzpf a.tgz
ps -p 1234
zip -r out.zip dir
7z x a.7z
unzip -P
openssl rand -hex 32
openssl s_client -connect host:443
ansible-vault encrypt_string --vault-id dev@prompt
vault kv get secret/db
vault login -method=oidc
bw login --sso
gh auth login
npm login
az login --use-device-code
kubectl get secret db -o yaml
kubectl -n prod get pods
helm upgrade --install app ./chart --set image.tag=1.4.2
git commit -m "Rotate token2"
echo "hello" | sudo tee /etc/x
echo done2 | tee log
""".strip().split("\n")


@pytest.mark.parametrize("text", QUIET, ids=lambda text: text[:60].encode("unicode_escape").decode())
def test_talk_references_and_code_come_back_byte_for_byte(text: str) -> None:
    for seed in range(2):
        filled = sample(text, seed).text
        assert scrub(filled) == filled
