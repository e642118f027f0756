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


QUIET = """
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
""".strip().split("\n")


@pytest.mark.parametrize("text", QUIET, ids=lambda text: text[:60].encode("unicode_escape").decode())
def test_talk_references_and_code_come_back_byte_for_byte(text: str) -> None:
    assert scrub(text) == text
