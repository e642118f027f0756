"""Which words promise a credential, and which say that there is none."""

# ruff: noqa: E501, SIM905 (patterns and word lists read better unbroken)

import re
from typing import Final

PASSWORDS: Final = frozenset(
    """
    password passwd passwrd passphrase passcode passwort passworts passwörter kennwort kennworts losungswort heslo hesla heslem heslu hesle hesly heslom contraseña contrasena contrasenya senha palavrapasse
    motdepasse passe mdp heslá lösenordet adgangskoden kodeordet wachtwoorden парола khẩu المرور السر hasło hasła hasłem haslo wachtwoord lösenord losenord adgangskode passord passordet kodeord salasana jelszó jelszo parolă
    parola parool şifre sifre lozinka geslo zaporka slaptažodis slaptazodis parole пароль пароля паролем гасло лозинка κωδικός
    κωδικος パスワード 暗証番号 密码 密碼 口令 비밀번호 암호 סיסמה pwd pw pass psk pswd passw passwort userpass pword passkey
    requirepass masterauth sandi sifra šifra fjalëkalimi pasahitza contrasinal pasvorto lykilorð focal rootpw bindpw rootpass
    dbpass authtok passwordtext loginpass userpw adminpw passwordplain keypass storepass motpasse
    """.split()
)
PASSWORD_ENDS: Final = "password passwd passphrase passwort kennwort heslo contraseña wachtwoord lösenord adgangskode passord salasana lozinka".split()
PASSWORD_GLUE: Final = re.compile(
    r"(?:db|database|user|usr|root|admin|my|mysql|mariadb|pg|postgres|redis|mongo|smtp|imap|pop|ftp|sftp|mail|email|ldap|bind|login|app|web|wifi|wlan|vnc|"
    r"ssh|sudo|become|su|proxy|http|key|store|trust|keystore|truststore|auth|account|service|svc|api|client|server|rpc|remote|master|default|rabbitmq|amqp|"
    r"mqtt|sql|jdbc|oracle|sa|sys|system|backup|vault|restic|borg|repo|docker|registry|nexus|jenkins|git|ci|test|prod|dev|stage|new|old|initial|temp|tmp)"
    r"(?:pass|pwd|pw|passwd|psk)"
)
SECRETS: Final = frozenset(
    """
    secret secrets geheimnis tajemství tajemstvi secreto segredo segreto sekret hemmelighet секрет clientsecret appsecret sharedsecret apisecret
    consumersecret usersecret secretkey secretaccesskey hmac seed totp otp mfa seeds hmackey macaroon accesskeysecret
    awssecretkey appkeysecret secretid signingsecret webhooksecret jwtsecret cookiesecret sessionsecret authsecret
    """.split()
)
TOKENS: Final = frozenset(
    """
    token jeton bearer jwt pat authtoken apitoken accesstoken bottoken refreshtoken usertoken idtoken sessiontoken privatetoken
    deploytoken gittoken authkey credential sessionid sessid sid phpsessid jsessionid sessionkey authcode žeton zeton токен トークン 令牌 토큰
    authorization auth sas
    """.split()
)
KEYS: Final = frozenset(
    "key keys klíč klic klíče schlüssel schluessel clave clé cle chiave klucz chave ключ キー 密钥 密鑰 키 nøgle nøkkel nyckel avain kulcs cheie sleutel llave".split()
)
GLUED_KEYS: Final = frozenset(
    """
    apikey accesskey privatekey privkey secretkey authkey masterkey encryptionkey signingkey appkey apiaccesskey sharedkey accountkey
    presharedkey licensekey licencekey serverkey servicekey sessionkey cryptkey hmackey deploykey adminkey subscriptionkey hostkeysecret
    recoverykey integrationkey writekey ingestkey cipherkey restkey apischlüssel apiklíč zugriffsschlüssel wiederherstellungsschlüssel functionkey
    """.split()
)
KEY_QUALIFIERS: Final = frozenset(
    """
    api access private priv secret auth authentication encryption encrypt master app application account service svc shared preshared
    subscription signing sign session deploy deployment admin server client license licence integration write ingest ingestion cipher rest
    recovery unseal setup bot hmac jwt webhook aes crypto crypt cookie storage function management developer dev prod production
    live test sandbox root project user personal registration routing org organization team vendor provisioning provision join node device
    soukromý tajný přístupový privátní geheimer privater privada secreta privée secrète privata segreta prywatny tajny privada секретный приватный закрытый
    rndc tsig wpa network wep bcrypt security zugriffs stripe openai twilio algolia datadog mailgun sendgrid cloudflare heroku
    anthropic google maps firebase azure aws gcp s3 slack discord telegram github gitlab forgejo gitea bitbucket npm pypi linear notion airtable
    asana figma dropbox box shopify square paypal braintree adyen mollie paddle plaid coinbase binance kraken segment mixpanel amplitude posthog
    sentry rollbar bugsnag honeybadger newrelic grafana honeycomb logdna loggly sumologic splunk pagerduty opsgenie statuspage okta auth0 clerk
    supabase planetscale mongodb atlas elastic elasticsearch meilisearch typesense pinecone weaviate qdrant cohere mistral groq replicate huggingface
    deepl deepseek perplexity xai gemini claude together fireworks openrouter elevenlabs stability assemblyai deepgram mapbox here tomtom
    maptiler rapidapi gotify ntfy pushover pickle ceph openweather openweathermap weather digitalocean linode vultr hetzner ovh scaleway fastly netlify vercel render flyio railway pulumi terraform hashicorp vault consul
    doppler infisical tailscale zerotier ngrok postmark sparkpost mailchimp mailjet brevo sendinblue vonage nexmo plivo messagebird zendesk intercom
    freshdesk hubspot salesforce jira atlassian confluence trello circleci travis buildkite codecov coveralls snyk sonar sonarqube nuget rubygems crates
    artifactory jfrog nexus docker dockerhub quay contentful sanity strapi ghost webflow wordpress recaptcha turnstile hcaptcha mastodon bunny backblaze b2 wasabi minio
    minecraft steam riot twitch youtube spotify tmdb omdb ipinfo maxmind virustotal shodan censys abuseipdb etherscan infura alchemy moralis mg sk cf ca
    """.split()
)
PUBLIC: Final = frozenset(
    """
    public pub publickey verify verification sender cache primary foreign sort partition row map dict group event state
    idempotency object candidate unique composite natural surrogate index lookup translation i18n locale message msg answer idx
    fingerprint hash hashed digest checksum identity ed25519 curve25519   ssh known authorized max min num number count total
    per limit n used cached generated vocab eos bos pad unk mask sep special stop start end image completion input output lexer
    next prev previous page pagination continuation cancel cancellation sync cursor resume since design color colour has have is no
    use uses with without show hide toggle forgot forget change reset update check validate valid invalid require requires required
    compare encode decode hotkey shortcut keyboard arrow enter escape shift ctrl alt meta home ssl_certificate publishable pk anon site
    lock request websocket socket accessor certificate cert   cnonce issue ticket csrf xsrf csrfmiddlewaretoken antiforgery
    veřejný veřejného öffentlicher öffentlichen öffentliche pública publica publique pubblica publiczny открытый публичный primární cizí
    """.split()
)
PUBLIC_ENDS: Final = frozenset(
    """
    id ids accessor file files path paths dir url uri urls name names type types kind len length size count max min limit limits expiry expires expiration
    expired ttl age hint policy policies prompt field fields label labels input reset regex pattern format class classes hasher hashers
    validator validators validation validate cmd command env ref refs endpoint issuer algorithm algo alg provider manager store placeholder
    strength rule rules required optional enabled disabled changed change incorrect correct invalid valid failed error errors mode prefix suffix header headers
    usage budget used rate cost var variable variables location source owner status state version digest hash hashed fingerprint
    fd stdin set update updated created at on time timestamp date days hours minutes seconds ms interval rotation page form screen
    dialog view controller service repository request response model schema column table   mapping by func function fn callback
    getter setter helper util utils test tests spec title text message msg description desc help info icon button link list map maps
    parser lexer reader writer generator factory builder handler middleware guard filter interceptor strategy adapter helpers
    protected protection auth authentication authorization logins forgotten forgot expires_in in is has scope scopes audience lifetime grace
    encoder decoder words word entry entries encoding encrypted through check checker match matches mismatch confirm
    confirmation confirmed again visible visibility show hide toggle eye color colour weight weights bits exchange agreement
    derivation share schedule pair pairs signature size_bytes authenticator grant grants only binding attempts attempt retry retries tries
    """.split()
)
WIRELESS: Final = frozenset("wifi wlan wpa wireless hotspot ssid wep netzwerk síťový".split())
"""What people call the key of a network is a password."""
CLAVE: Final = frozenset("clave chiave llave chave".split())
FILLERS: Final = frozenset("de del la le d des da do der die das the of for".split())
TRAILING: Final = frozenset(
    "value val text plain plaintext string raw b64 base64 here new old prod dev test staging production live main primary secondary default current hex v override".split()
)
"""Words at the end of a name that change nothing: `token_value`, `PASSWORD_OLD`."""
PASSWORD_AFTER: Final = frozenset(
    "change reset update confirm use enter start group known home site ssh device object".split()
)
"""Public before "key", but not before "password": `ssh_password`, `change password`."""
SECRET_AFTER: Final = frozenset(
    "identity site event group object sender message state csrf xsrf verification certificate".split()
)
"""Public before "key", but not before "secret": `identity_secret`."""
