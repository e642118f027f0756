"""Tokens of payment, mail, AI, monitoring and other services that give them a prefix."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.checksums import is_grafana_checked
from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.shape import checked, drawn, not_placeholder, token
from ingest.scrub.shapes import is_noise, is_random, is_slug

AFTER_HEX: Final = r"(?<=(?<![0-9A-Za-z_])[a-f0-9]{32}-)"
HEX_DIGITS: Final = 32


def with_hex(match: re.Match[str], text: str) -> Spans:
    """The match and the hex digits before it."""
    start, end = match.start() - HEX_DIGITS, match.end()
    return NOTHING if is_placeholder(text[start:end], quoted=True) else ((start, end),)


def json_key(match: re.Match[str], text: str) -> Spans | None:
    """Published reports of Power BI are addressed by such an object too."""
    return NOTHING if text.endswith(("?r=", "&r="), 0, match.start()) else drawn()(match, text)


def wordpress(match: re.Match[str], text: str) -> Spans:
    return (match.span("s"),) if is_noise(match["s"]) or is_random(match["s"], 40) else NOTHING


PUBLIC_NAME: Final = re.compile("pub|sha|ed25519|finger|hash|verify|host|id$", re.I)


def livekit(match: re.Match[str], text: str) -> Spans:
    value = match["s"]
    is_secret = is_random(value, 32) and value.lower() != value != value.upper() and not is_slug(value)
    return (match.span("s"),) if is_secret and not PUBLIC_NAME.search(match["name"]) else NOTHING


STRIPE_NAMES: Final = "sk rk ak api key secret tok token access prv priv private sec".split()
STRIPE_STAGES: Final = "live test prod production sandbox dev stage staging eu us".split()

RULES: Final[tuple[Rule, ...]] = (
    token(
        "stripe-key",
        "Secret and restricted keys and webhook secrets of Stripe, live or test, and services that copied its form.",
        rf"(?:(?:{'|'.join(STRIPE_NAMES)})_(?:{'|'.join(STRIPE_STAGES)})_|whsec_|re_(?=[A-Za-z0-9]{{8}}_))"
        r"(?P<b>[A-Za-z0-9_+/=]{14,}+)",
        gate(f"whsec_ re_ {' '.join(f'{name}_{stage}' for name in STRIPE_NAMES for stage in STRIPE_STAGES)}"),
        (
            "STRIPE=⟦sk_live_{alnum:24}⟧",
            "⟦rk_test_{alnum:99}⟧",
            "hook ⟦whsec_{alnum:32}⟧",
            "resend ⟦re_{alnum:8}_{alnum:24}⟧",
        ),
        ("stripe: sk_test_your_key", "whsec_...", "pk_live_{alnum:24}", "api_test_helpers_module_name"),
        worst="sk_live_",
    ),
    token(
        "payment-token",
        "Square, Braintree, PayPal, Adyen, Mollie, Razorpay, Flutterwave, GoCardless, Plaid, Coinbase.",
        r"(?:sq0(?:atp|csp|idp)-|EAAA[A-Za-z0-9]?(?=[A-Za-z0-9_\-]{59})|access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$|AQE(?=[a-z]hmf)|(?:live|test)_(?=[A-Za-z]*[0-9])(?=[A-Za-z0-9]{28,40}\b)|"
        r"rzp_(?:live|test)_|FLWSECK(?:_TEST)?-|(?:live|sandbox)_(?=[A-Za-z0-9_\-]{40}\b)|access-(?:sandbox|development|production)-|shippo_(?:live|test)_|EZ[AT]K|lob_)"
        r"(?P<b>[A-Za-z0-9_\-]{14,}+)",
        gate(
            "sq0 access_token$ live_ test_ rzp_ flwseck sandbox_ access-sandbox- access-development- access-production- shippo_ lob_ eaaa aqe ezak eztk"
        ),
        (
            "square ⟦sq0csp-{url64:43}⟧",
            "mollie: ⟦live_{alnum:30}⟧",
            "⟦rzp_live_{alnum:14}⟧",
            "plaid ⟦access-sandbox-{uuid}⟧",
            "⟦EZAK{alnum:54}⟧",
        ),
        (
            "live_streaming_settings_for_the_meeting_room",
            "test_password_is_never_logged_anywhere",
            "access-production-database-readonly",
        ),
        worst="sq0csp-",
    ),
    token(
        "shop-token",
        "PayPal, Paddle, Midtrans, Omise, Mercado Pago, Klaviyo, Telnyx, WooCommerce, Amazon sellers, Zoho, Akamai.",
        r"(?:A21AA(?P<b>[A-Za-z0-9_\-]{60,}+)|pdl_(?:live|sdbx)_apikey_[A-Za-z0-9_]{40,}+|(?:SB-)?Mid-server-[A-Za-z0-9_\-]{20,}+|skey_(?:live_|test_)?[a-z0-9]{16,}+|APP_USR-\d{10,20}-\d{6}-[a-f0-9]{32}-\d{6,12}|"
        r"pk_[a-f0-9]{34}(?![A-Za-z0-9])|KEY[0-9A-F]{32}_[A-Za-z0-9]{22}|c[ks]_[a-f0-9]{40}(?![A-Za-z0-9])|amzn1\.oa2-cs\.v1\.[a-f0-9]{64}|Atz[ar]\|[A-Za-z0-9_\-+/=]{60,}+|"
        r"1000\.[a-f0-9]{32}\.[a-f0-9]{32}|akab-[a-z0-9]{16}-[a-z0-9]{16}|sup_sk_[A-Za-z0-9]{24,}+)(?![A-Za-z0-9])",
        gate(
            "a21aa pdl_live_ pdl_sdbx_ mid-server- sb-mid-server- skey_ app_usr- pk_ ck_ cs_ amzn1.oa2-cs. atzr| atza| 1000. akab- sup_sk_",
            *(f"key{c}" for c in "0123456789abcdef"),
        ),
        (
            "paypal ⟦A21AA{url64:92}⟧",
            "⟦pdl_live_apikey_{lower:26}_{alnum:22}_{alnum:3}⟧",
            "midtrans: ⟦Mid-server-{alnum:24}⟧",
            "⟦APP_USR-{digits:16}-{digits:6}-{hex:32}-{digits:9}⟧",
            "klaviyo ⟦pk_{hex:34}⟧",
            "⟦KEY{HEX:32}_{alnum:22}⟧",
            "woo ⟦cs_{hex:40}⟧",
            "⟦amzn1.oa2-cs.v1.{hex:64}⟧",
            "zoho: ⟦1000.{hex:32}.{hex:32}⟧",
        ),
        ("pk_live_{alnum:24}", "cs_CZ and sk_SK are locales", "1000.00 CZK", "skey_length_of_the_table"),
        worst="pdl_live_apikey_",
        validate=not_placeholder,
    ),
    token(
        "ai-key",
        "OpenAI, Anthropic, OpenRouter, DeepSeek, Stability and whoever else begins with sk-.",
        r"sk-(?!ssh-|ecdsa-)(?:ant-(?:[a-z]{2,6}\d{2}-)?|proj-|svcacct-|admin-|None-|or-v1-|lf-|[a-z]{2,10}-)?(?P<b>[A-Za-z0-9_\-]{20,}+)",
        gate("sk-"),
        (
            "OPENAI_API_KEY=⟦sk-{alnum:20}T3BlbkFJ{alnum:20}⟧",
            "⟦sk-proj-{url64:74}T3BlbkFJ{url64:74}⟧",
            "use ⟦sk-ant-api03-{url64:93}AA⟧ for now",
        ),
        (
            "task-notification",
            "risk-assessment-summary-template",
            "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "sk-learn-contrib-estimators-page",
        ),
        worst="sk-",
        kind="ai-api-key",
    ),
    token(
        "ai-service-key",
        "Prefixes of other AI services: Hugging Face, Groq, xAI, Replicate, Perplexity, Fireworks, LangSmith, Pinecone, Cerebras, NVIDIA, Tavily, Firecrawl.",
        r"(?:hf_|api_org_|gsk_|xai-|r8_|pplx-|fw_|lsv2_(?:pt|sk)_|ls__|pcsk_|csk-|nvapi-|tvly-(?:dev-|prod-)?|fc-|tgp_v1_|jina_|voyage_?|cohere_|sk_(?=[a-f0-9]{40,})|"
        r"wandb_v1_|key_(?=[a-f0-9]{40})|crsr_|up_(?=[A-Za-z0-9]{29}\b)|as-(?=[A-Za-z0-9]{22}\b)|pa-(?=[A-Za-z0-9_\-]{43}(?![A-Za-z0-9_\-]))|m0-|llx-|ck-|bb_(?:live|test)_|BSA(?=[A-Za-z0-9_\-]{26,29}(?![A-Za-z0-9_\-]))|e2b_|exa_|luma-|together_|AQ\.Ab8RN6|sk-lf-|pk-lf-)(?P<b>[A-Za-z0-9_\-]{22,}+)|bce-v3/ALTAK-[A-Za-z0-9]{16,}+/[a-f0-9]{40}(?![A-Za-z0-9])",
        gate(
            "crsr_ up_ as- pa- m0- llx- ck- bb_live_ bb_test_ bsa bce-v3/altak- hf_ api_org_ gsk_ xai- r8_ pplx- fw_ lsv2_ ls__ pcsk_ csk- nvapi- tvly- fc- tgp_v1_ jina_ voyage cohere_ sk_ wandb_v1_ key_ e2b_ exa_ luma- together_ "
            "aq.ab8rn6 sk-lf- pk-lf-"
        ),
        (
            "hf_token = ⟦hf_{mixed:34}⟧",
            "GROQ=⟦gsk_{alnum:52}⟧",
            "⟦r8_{alnum:37}⟧",
            "⟦nvapi-{url64:64}⟧",
            "elevenlabs ⟦sk_{hex:48}⟧",
            "cursor ⟦crsr_{hex:64}⟧",
            "⟦as-{alnum:22}⟧",
            "voyage ⟦pa-{url64:43}⟧",
            "brave: ⟦BSA{alnum:28}⟧",
            "⟦bce-v3/ALTAK-{alnum:22}/{hex:40}⟧",
        ),
        (
            "hf_transfer enabled",
            "fw_update_manager_service_restart",
            "pa-ckage-manager-is-not-a-key-today",
            "as-soon-as-possible-please-and-thanks",
            "co-operative-working-group-meeting",
        ),
        worst="hf_",
        kind="ai-api-key",
        validate=drawn(22),
    ),
    token(
        "mail-key",
        "SendGrid, Mailgun, Mailchimp, Brevo, Postmark-like, MailerSend, Mailjet-like services: whoever has one sends in your name.",
        r"(?:SG\.(?P<b>[A-Za-z0-9_\-]{16,30}\.[A-Za-z0-9_\-]{16,80}+)|key-[a-f0-9]{32}(?![A-Za-z0-9])|xkeysib-[a-f0-9]{40,80}(?:-[A-Za-z0-9]{10,24})?|xsmtpsib-[a-f0-9]{40,80}(?:-[A-Za-z0-9]{10,24})?|mlsn\.[a-f0-9]{40,80}|sib-[a-f0-9]{40,80})",
        gate("sg. key- xkeysib- xsmtpsib- mlsn. sib-"),
        (
            "SENDGRID_API_KEY: ⟦SG.{url64:22}.{url64:43}⟧",
            "curl --user 'api:⟦key-{hex:32}⟧' https://api.example.org",
            "brevo ⟦xkeysib-{hex:64}-{alnum:16}⟧",
        ),
        ("SG.1 episode list", "key-value store", "{hex:32}.js"),
        worst="SG.",
        validate=not_placeholder,
    ),
    Rule(
        name="mailchimp-key",
        kind="mail-key",
        why="Keys of Mailchimp: 32 hex digits and the name of a data centre.",
        pattern=re.compile(rf"-{AFTER_HEX}us\d{{1,2}}(?![A-Za-z0-9\-])"),
        gate=gate("-us"),
        finds=("mailchimp ⟦{hex:32}-us14⟧",),
        leaves=("{hex:32}-us-east",),
        worst="a" * 32 + "-",
        validate=with_hex,
    ),
    Rule(
        name="mailgun-key",
        kind="mail-key",
        why="The newer keys of Mailgun: three runs of hex digits.",
        pattern=re.compile(rf"-{AFTER_HEX}[a-f0-9]{{8}}-[a-f0-9]{{8}}(?![A-Za-z0-9\-])"),
        gate=gate("-"),
        finds=("⟦{hex:32}-{hex:8}-{hex:8}⟧",),
        leaves=("{hex:32}-suffix",),
        worst="a" * 32 + "-",
        validate=with_hex,
    ),
    token(
        "monitoring-token",
        "Grafana, Sentry, New Relic, Dynatrace, Honeycomb, PagerDuty, Datadog PATs, Rollbar-like.",
        r"(?:gl(?:sa|c)_(?=[A-Za-z0-9+/=_])|sntry[suix]_|NR(?:AK|AA|JS|II|IQ|RA|BR)-|NRAK|dt0[a-z]\d{2}\.[A-Z0-9]{20,30}\.|hc(?:aik|bik|xik|alk|xmk|amk)_|ddpat_|ddapp_|pdus\+_|ur\d{6,9}-(?=[a-f0-9]{24})|phx_|ph[ascr]_|lgr_|"
        r"hcik_|logfire_|chronitor_|ingest_|axiom_|xa[ap]t-|rbr_|bsg_|inst_)(?P<b>[A-Za-z0-9_\-+/=.]{16,}+)",
        gate(
            "glsa_ glc_ sntrys_ sntryu_ sntryi_ sntryx_ nrak- nraa- nrjs- nrii- nriq- nrra- nrbr- dt0 hcaik_ hcbik_ hcxik_ hcalk_ ddpat_ ddapp_ pdus+_ ur0 ur1 ur2 ur3 ur4 ur5 ur6 ur7 ur8 ur9 phx_ pha_ phs_ phr_ lgr_ hcik_ xaat- xapt-"
        ),
        (
            "SENTRY_AUTH_TOKEN: ⟦sntryu_{hex:64}⟧",
            "grafana ⟦glsa_{alnum:32}_{hex:8}⟧",
            "⟦NRAK-{upper:27}⟧",
            "⟦dt0c01.{upper:24}.{upper:64}⟧",
            "uptime ⟦ur{digits:7}-{hex:24}⟧",
        ),
        ("NRAK-... keys are listed there", "phx_router_scope_helpers_enabled"),
        worst="glsa_",
        validate=checked(is_grafana_checked, 14),
    ),
    Rule(
        name="license-key-of-newrelic",
        kind="monitoring-token",
        why="The older keys of New Relic and the keys of MaxMind end with their name, as other keys begin with it.",
        pattern=re.compile(
            r"NRAL(?<=(?<![0-9A-Za-z])[a-z0-9]{36}NRAL)(?![0-9A-Za-z])|_mmk(?<=(?<![0-9A-Za-z])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?![0-9A-Za-z])"
        ),
        gate=gate("nral _mmk"),
        finds=("⟦{hex:36}NRAL⟧ is the old one", "maxmind ⟦{alnum:6}_{alnum:29}_mmk⟧"),
        leaves=("NRAL is their suffix", "the mineral is green", "calc_mmk"),
        worst="a" * 36 + "NRAL",
        validate=lambda match, text: ((match.start() - 36, match.end()),),
        is_anchored=True,
    ),
    token(
        "encoded-json-key",
        "Older keys of Grafana and tokens of Cloudflare tunnels: a JSON object in base64 whose first field is the key.",
        r"eyJ(?:rIjoi|hIjoi)(?P<b>[A-Za-z0-9+/_\-]{40,}+={0,2})",
        gate("eyjrijoi eyjhijoi"),
        ("cloudflared ⟦eyJhIjoi{alnum:120}⟧", "grafana: ⟦eyJrIjoi{alnum:70}⟧"),
        ("eyJrIjoi is how they begin", "https://app.example.org/view?r=eyJrIjoi{alnum:90} is a published report"),
        kind="monitoring-token",
        worst="eyJrIjoi",
        validate=json_key,
    ),
    token(
        "twilio-key",
        "Key ids of Twilio; the account id alone is harmless, the secrets are found by name or beside them.",
        r"SK(?P<b>[a-f0-9]{32})(?![A-Za-z0-9])",
        gate(" ".join(f"sk{c}" for c in "0123456789abcdef")),
        ("TWILIO_API_KEY=⟦SK{hex:32}⟧",),
        ("SKU 12-3456-789-AB", "SK{hex:8}"),
        worst="SK",
    ),
    token(
        "heroku-key",
        "Prefixed keys of Heroku; the older ones are UUIDs and need a named slot.",
        r"HRKU-(?P<b>[A-Za-z0-9_\-]{24,}+)",
        gate("hrku-"),
        ("HEROKU_API_KEY=⟦HRKU-AA{url64:58}⟧",),
        ("HRKU-... is the new form",),
        worst="HRKU-",
    ),
    token(
        "token-of-fixed-parts",
        "Authress, SettleMint and ClickHouse: short prefixes, so that all lengths have to fit.",
        r"(?:(?:sc|ext)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_\-][A-Za-z0-9\-]{10,32}\.(?P<b>[A-Za-z0-9+/_=\-]{30,120}+)|"
        r"sm_[psa]at_[A-Za-z0-9]{16}|4b1d[A-Za-z0-9]{38})(?![A-Za-z0-9])",
        gate("sc_ ext_ sm_pat_ sm_sat_ sm_aat_ 4b1d"),
        ("⟦sm_pat_{alnum:16}⟧", "clickhouse ⟦4b1d{alnum:38}⟧"),
        ("ext_modules.core.acc", "sc_2026", "4b1d is a commit"),
        kind="service-token",
        worst="sc_aaaaa.",
        validate=drawn(14),
    ),
    token(
        "service-token",
        "Postman, Contentful-like, Typeform, Mapbox secrets, Pulumi, EasyPost-like, Zuplo, LaunchDarkly, Frame.io, Ionic, Adafruit, Duffel, Readme, Prefect, Octopus, ngrok and the like.",
        r"(?:PMAK-|tfp_|sk\.eyJ1|pul-|zpka_|sdk-(?=[a-f0-9]{8}-)|api-(?=[a-f0-9]{8}-)|mob-(?=[a-f0-9]{8}-)|fio-u-|ion_|aio_|duffel_(?:test|live)_|rdme_|pnu_|API-(?=[A-Z0-9]{25,})|"
        r"cr_|CMRA|dop_|easypost_|shippo_|LA-|sgp_(?:[a-f0-9]{8,16}_|local_)?|slk_|ubp_|apify_api_|nb_|retool_|mgp_|ws_sk_|plane_api_|clojars_|cal_live_|attio_|intercom_|sm_|rpa_|sonic_|"
        r"sec_|eat_|op_|stk_|ctp_|cfp_|sess-|pat_|cpk_|kl_|syncfusion_|zb_|atk_|apk_|mcp_|secret-(?:live|test)-|prm_|gsecret_|s-s4t2(?:ud|af)-|dnkey-|ico-|tk-us-|polar_(?:oat|pat)_|ucat_|signkey-(?:prod|test|branch)-|tr_(?:dev|prod)_|ctx7sk-|KGAT_|waka_|snyk_(?:sat|uat|dat)\.|p8e-|sha256~)(?P<b>[A-Za-z0-9_\-.]{24,}+)",
        gate(
            "pmak- tfp_ sk.eyj1 pul- zpka_ sdk- api- mob- fio-u- ion_ aio_ duffel_ rdme_ pnu_ cmra easypost_ la- sgp_ ubp_ apify_api_ retool_ mgp_ plane_api_ "
            "secret-live- secret-test- cal_live_ attio_ rpa_ sec_ stk_ ctp_ sess- pat_ cpk_ atk_ apk_ mcp_ s-s4t2ud- s-s4t2af- dnkey- ico- tk-us- polar_oat_ polar_pat_ ucat_ "
            "signkey- tr_dev_ tr_prod_ ctx7sk- kgat_ waka_ snyk_ p8e- sha256~"
        ),
        (
            "⟦PMAK-{hex:24}-{hex:34}⟧",
            "PULUMI=⟦pul-{hex:40}⟧",
            "⟦duffel_live_{url64:43}⟧",
            "sourcegraph ⟦sgp_{hex:40}⟧",
            "stytch ⟦secret-live-{url64:36}⟧",
            "apify ⟦apify_api_{alnum:36}⟧",
            "oc login --token=⟦sha256~{url64:43}⟧",
            "⟦dnkey-{url64:26}-{url64:52}⟧",
        ),
        (
            "pat_matching_in_ruby_three_dot_one",
            "sec_audit_report_generator_settings",
            "api-gateway-deployment-guide-2026",
        ),
        worst="PMAK-",
        validate=drawn(24),
    ),
    Rule(
        name="wordpress-keys",
        kind="key",
        why="Keys and salts of WordPress are drawn from all signs, blanks and brackets among them.",
        pattern=re.compile(
            r"(?:AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)[\"']?[ \t]{0,24}[,=:][ \t]{0,24}(?P<quote>[\"'])(?P<s>[^\"'\\\n‹›]{40,128}+)(?P=quote)"
        ),
        gate=gate("auth_key auth_salt logged_in_key logged_in_salt nonce_key nonce_salt"),
        finds=(
            "define( 'LOGGED_IN_SALT',   '⟦{of_wordpress:64}⟧' );",
            "SECURE_AUTH_KEY='⟦{of_wordpress:64}⟧'",
        ),
        leaves=("define('AUTH_KEY', 'put your unique phrase here');", "AUTH_SALT='generate-me'"),
        worst="AUTH_KEY='",
        validate=wordpress,
    ),
    Rule(
        name="livekit-keys",
        kind="secret",
        why="The secrets of LiveKit stand behind names that their host chose.",
        pattern=re.compile(
            r"(?:(?:^|(?<=\n))keys:[ \t]{0,4}\r?\n[ \t>]{1,24}|LIVEKIT_KEYS[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?)(?P<name>[\w\-]{2,40}+)[\"']?:[ \t]{1,8}[\"']?(?P<s>[A-Za-z0-9+/_\-]{32,64}+=?)(?![\w+/\-])"
        ),
        gate=gate("keys: livekit_keys"),
        finds=("port: 7880\nkeys:\n  lk-jwt: ⟦{alnum:43}⟧\n", 'LIVEKIT_KEYS: "devkey: ⟦{alnum:43}⟧"'),
        leaves=("keys:\n  public_key: {alnum:43}\n", "keys:\n  ed25519: {b64:43}\n", "keys:\n  devkey: secret\n"),
        worst="keys:\n a: ",
        validate=livekit,
    ),
)
