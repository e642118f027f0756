"""Keys and tokens of clouds, hosting and infrastructure."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import re
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.placeholders import is_placeholder
from ingest.scrub.rules.shape import START, drawn, not_placeholder, token
from ingest.scrub.shapes import is_random

SECRET_AFTER_ID: Final = re.compile(r"(?<![A-Za-z0-9/+=])(?P<s>[A-Za-z0-9/+]{40}+)(?![A-Za-z0-9/+=])")
FAR: Final = 160


def access_key(match: re.Match[str], text: str) -> Spans:
    """The id, and a bare 40-character secret soon after it: people paste the two together."""
    if (
        is_placeholder(match["s"], quoted=True)
        or len(set(match["b"])) < 6
        or (match["b"].isalpha() and is_word(match["b"]))
    ):
        return NOTHING
    spans = [match.span("s")]
    pair = SECRET_AFTER_ID.search(text, match.end("s"), match.end("s") + FAR)
    if pair and is_random(pair["s"], 40) and any(c.isupper() for c in pair["s"]):
        spans.append(pair.span("s"))
    return tuple(spans)


def is_word(text: str) -> bool:
    return sum(c in "AEIOU" for c in text) > 0.45 * len(text)


ENTRA_HEAD: Final = re.compile(r"(?:(?<![A-Za-z0-9_~.\-])|(?<=%[0-9A-Fa-f]{2}))[A-Za-z0-9_~.\-]{3}[0-9]$")
TERRAFORM_HEAD: Final = re.compile(START + r"[A-Za-z0-9]{10,20}$")
BASE64_SIGNS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
AZURE_HEAD: Final = range(33, 78)
"""How long what stands before the mark may be."""


def entra_secret(match: re.Match[str], text: str) -> Spans:
    head = ENTRA_HEAD.search(text, max(0, match.start() - 8), match.start())
    if not head or not is_random(match[0], 30) or is_placeholder(match[0], quoted=True):
        return NOTHING
    return ((head.start(), match.start() + len(match[0].rstrip("."))),)


def azure_key(match: re.Match[str], text: str) -> Spans | None:
    window = text[max(0, match.start() - AZURE_HEAD.stop) : match.start()]
    length = len(window) - len(window.rstrip(BASE64_SIGNS))
    return ((match.start() - length, match.end()),) if length in AZURE_HEAD else None


BOOTSTRAP_HEAD: Final = re.compile(r"(?<![\w./\-@:])[a-z0-9]{6}$")
BOOTSTRAP_CONTEXT: Final = re.compile(
    r"kubeadm|bootstrap[ _\-]?(?:token|auth)|authentication,signing|bootstrappers", re.I
)
OPTION_BEFORE: Final = re.compile(r"--token[= \t][\"' \t]{0,4}$")
FEWEST_DIGITS: Final = 2
UNSPOKEN: Final = re.compile("[^aeiouy0-9.]{4}")


def bootstrap_token(match: re.Match[str], text: str) -> Spans | None:
    """After the option whatever it looks like; with a word of Kubernetes in reach if it has digits."""
    at = match.start()
    head = BOOTSTRAP_HEAD.search(text, max(0, at - 7), at)
    if not head:
        return None
    value = head[0] + match[0]
    is_option = OPTION_BEFORE.search(text, max(0, head.start() - 16), head.start())
    is_drawn = sum(map(str.isdigit, value)) >= FEWEST_DIGITS or UNSPOKEN.search(value)
    is_named = is_drawn and BOOTSTRAP_CONTEXT.search(text, max(0, at - FAR_CONTEXT), at + FAR_CONTEXT)
    if not (is_option or is_named) or is_placeholder(value, quoted=True):
        return NOTHING
    return ((head.start(), match.end()),)


FAR_CONTEXT: Final = 400


def terraform_token(match: re.Match[str], text: str) -> Spans:
    head = TERRAFORM_HEAD.search(text, max(0, match.start() - 24), match.start())
    tail = drawn()(match, text) if head else NOTHING
    return ((head.start(), tail[0][1]),) if head and tail else NOTHING


RULES: Final[tuple[Rule, ...]] = (
    token(
        "aws-access-key",
        "Ids of AWS keys (long-lived and temporary), with the secret where it follows bare.",
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])(?P<b>[A-Z2-7]{16})(?![A-Za-z0-9])",
        gate("akia asia abia acca a3t"),
        ("AWS_ACCESS_KEY_ID=⟦AKIA{base32:16}⟧", "| ⟦AKIA{base32:16}⟧ | ⟦{b64:40}⟧ |"),
        ("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AKIRA 1988", "`AKIA\\w{16}\\b` is a crude pattern"),
        worst="AKIA",
        validate=access_key,
    ),
    token(
        "aws-session-token",
        "Session tokens of STS and keys of Bedrock: long, and begin with an encoded version.",
        r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|AgoJb3JpZ2lu|FQoGZXIvYXdz|ABSKQmVkcm9ja0FQSUtleS|bedrock-api-key-)(?P<b>[A-Za-z0-9+/=_\-%]{20,}+)",
        gate("bedrock-api-key- iqojb3jpz2lu fwogzxivyxdz agojb3jpz2lu fqogzxivyxdz abskqmvkcm9ja"),
        ("aws_session_token = ⟦IQoJb3JpZ2lu{alnum:40}{b64:260}⟧",),
        ("IQoJb3JpZ2lu is where it begins",),
        worst="IQoJb3JpZ2lu",
    ),
    token(
        "google-api-key",
        "Keys of Google APIs, Maps, Firebase and Gemini.",
        r"AIza(?P<b>[A-Za-z0-9_\-]{24,80}+)",
        gate("aiza"),
        ("terraform apply -var 'google_api_key=⟦AIza{url64:35}⟧'", "key=⟦AIzaSy{url64:33}⟧&libraries=places"),
        ("AIzawa", "AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX is where yours goes"),
        worst="AIza",
    ),
    token(
        "google-oauth-token",
        "Client secrets, access tokens and refresh tokens of Google.",
        r"(?:GOCSPX-(?P<b>[A-Za-z0-9_\-]{16,}+)|ya29\.[A-Za-z0-9_\-.]{20,}+|1//0[A-Za-z0-9_\-]{20,}+|4/0A[A-Za-z0-9_\-]{30,}+)",
        gate("gocspx- ya29. 1//0 4/0a"),
        ("GOOGLE_SECRET=⟦GOCSPX-{url64:28}⟧", "token: ⟦ya29.a0{url64:160}⟧", "refresh ⟦1//0{url64:90}⟧"),
        ("GOCSPX-your-client-secret-goes-here", "http://example.org/1//0"),
        worst="ya29.",
        validate=not_placeholder,
    ),
    Rule(
        name="azure-secret",
        kind="azure-secret",
        why="Client secrets of Entra ID; the fourth to sixth characters are a digit and a mark.",
        pattern=re.compile(r"Q~[A-Za-z0-9_~.\-]{31,34}(?![A-Za-z0-9_~\-])"),
        gate=gate("q~"),
        finds=("ARM_CLIENT_SECRET=⟦q8q8Q~{alnum:34}⟧",),
        leaves=("the value has Q~ inside",),
        worst="aaa8Q~",
        validate=entra_secret,
        is_anchored=True,
    ),
    Rule(
        name="azure-key",
        kind="azure-key",
        why="Keys of storage accounts, service bus, functions, Cosmos and DevOps carry a mark in fixed places.",
        pattern=re.compile(
            r"(?:(?:\+AStA|\+ASbA|AzSeA|AzFu[A-Za-z0-9]{2}|ACDbA)[A-Za-z0-9+/]{5,12}={0,2}|AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9]))"
        ),
        gate=gate("+asta +asba azsea azfu acdba azdo"),
        finds=("key1 ⟦{alnum:36}{b64:40}+AStA{b64:6}==⟧", "pipeline ⟦{alnum:76}AZDO{alnum:4}⟧"),
        leaves=("the mark is +AStA",),
        worst="+AStAaaaaaa",
        validate=azure_key,
        is_anchored=True,
    ),
    token(
        "digitalocean-token",
        "Personal, OAuth and refresh tokens of DigitalOcean.",
        r"do[opr]_v1_(?P<b>[a-f0-9]{24,}+)",
        gate("dop_v1_ doo_v1_ dor_v1_"),
        ("DIGITALOCEAN_TOKEN=⟦dop_v1_{hex:64}⟧",),
        ("doo_wop_songs_of_the_fifties", "dop_v1_..."),
        worst="dop_v1_",
    ),
    token(
        "alibaba-key",
        "Key ids of Alibaba and Tencent Cloud and of Yandex; their secrets are found by name.",
        r"(?:LTAI(?=[A-Za-z0-9]*[0-9])|AKID(?=[A-Za-z0-9]*[0-9])|AKLT|YC[ABNP](?=[A-Za-z0-9_\-]{30})|AQVN|y0_Ag|t1\.9eu)(?P<b>[A-Za-z0-9_\-.]{12,260}+)",
        gate("y0_ag t1.9eu ltai akid aklt yca ycb ycn ycp aqvn"),
        ("accessKeyId: ⟦LTAI{alnum:20}⟧", "AKID: ⟦AKID{alnum:32}⟧", "IAM ⟦AQVN{alnum:38}⟧"),
        ("LTAI is a prefix", "AKIDs are listed in the console", "the AQVN family"),
        worst="LTAI",
        validate=drawn(12),
    ),
    token(
        "hosting-token",
        "Fly, Render, Railway, Netlify, Vercel, Deno, Scaleway, Supabase, PlanetScale, Neon, Aiven, Atlas, Elastic, dbt, NetBird, Cloudflare, Doppler.",
        r"(?:fo1_|FlyV1 fm[12][a-z]?_|fm[12][ar]?_|rnd_|rlwy_|nf[pcou]_|vercel_|vc[piark]_|sbp_|sb_secret_|pscale_(?:tkn|pw|oauth)_|napi_|neon_|"
        r"cfat_|cfut_|cfk_|v1\.0-(?=[a-f0-9]{24}-)|dp\.(?:pt|st|sa|ct|scim|audit|said)\.(?:[a-z0-9_\-]{2,35}\.)?|SCW(?=[A-Z0-9]{17}\b)|"
        r"AVNS_|mdb_sa_sk_|dbt[cu]_|essu_|ddp_|nbp_|exo_|EXO(?=[a-f0-9]{24})|ory_(?:at|rt|ac|st|pat)_|tfp_|upstash_|turso_|xata_|xau_|edb_|sbr_)(?P<b>[A-Za-z0-9_\-+/=,]{16,}+)",
        gate(
            "avns_ mdb_sa_sk_ dbtc_ dbtu_ essu_ ddp_ nbp_ fo1_ fm1 fm2 rnd_ rlwy_ nfp_ nfc_ nfo_ nfu_ vercel_ vcp_ vci_ vca_ vcr_ vck_ sbp_ sb_secret_ pscale_ napi_ neon_ cfat_ cfut_ cfk_ v1.0- "
            "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit. dp.said. scw exo ory_at_ ory_rt_ ory_ac_ ory_st_ ory_pat_ tfp_ upstash_ turso_ xata_ xau_ edb_ sbr_",
            "flyv1 fm",
        ),
        (
            "DOPPLER_TOKEN=⟦dp.pt.{alnum:43}⟧",
            "origin ca key ⟦v1.0-{hex:24}-{hex:146}⟧.",
            "⟦nfp_{alnum:36}⟧",
            "SUPABASE=⟦sbp_{hex:40}⟧",
            "db ⟦pscale_pw_{url64:43}⟧",
            "mysql ⟦AVNS_{url64:19}⟧",
            "⟦mdb_sa_sk_{url64:40}⟧",
            "dbt ⟦dbtu_{url64:43}⟧",
        ),
        ("v1.0-rc.4 is out", "rnd_seed_from_the_environment", "sb_secret_key_rotation_is_documented"),
        worst="dp.pt.",
    ),
    token(
        "databricks-token",
        "Personal tokens of Databricks; a number may follow after a dash.",
        r"dapi(?P<b>[a-f0-9]{24,40})(?:-\d{1,3})?(?![A-Za-z0-9])",
        gate("dapi"),
        ("Databricks: ⟦dapi{hex:32}-3⟧", "(⟦dapi{hex:32}⟧)"),
        ("dapi is the prefix",),
        worst="dapi",
    ),
    token(
        "vault-token",
        "Service, batch and recovery tokens of HashiCorp Vault and OpenBao.",
        r"hv[sbr]\.(?P<b>[A-Za-z0-9_\-]{18,}+)",
        gate("hvs. hvb. hvr."),
        ("vault login ⟦hvs.{url64:90}⟧", "it's ⟦hvs.{alnum:24}⟧."),
        ("hvs. is the prefix",),
        worst="hvs.",
    ),
    token(
        "vault-older-token",
        "The older form of the same: one letter, a full stop, 24 characters.",
        r"[sbr]\.(?P<b>[A-Za-z0-9]{24})(?![A-Za-z0-9_\-]|\.[A-Za-z0-9])",
        gate("s. b. r."),
        ("VAULT_TOKEN=⟦s.{alnum:24}⟧",),
        ("r.transformation_of_everything",),
        kind="vault-token",
        worst="s.",
        validate=drawn(24),
    ),
    Rule(
        name="terraform-token",
        kind="terraform-token",
        why="Tokens of Terraform Cloud have a fixed middle.",
        pattern=re.compile(r"\.atlasv1\.(?P<s>[A-Za-z0-9_\-=]{30,}+)"),
        gate=gate(".atlasv1."),
        finds=('token = "⟦{alnum:14}.atlasv1.{url64:67}⟧"',),
        leaves=("the middle is .atlasv1.",),
        worst="aaaaaaaaaaaaaaaa.atlasv1.",
        validate=terraform_token,
        is_anchored=True,
    ),
    token(
        "tailscale-key",
        "Auth, API, client and webhook keys of Tailscale; whoever has one joins the network.",
        r"tskey-(?:[a-z]{2,10}-)?(?P<b>[A-Za-z0-9]{8,}+(?:-[A-Za-z0-9]{8,}+)?)",
        gate("tskey-"),
        ("tailscale up --authkey ⟦tskey-auth-{alnum:17}-{alnum:32}⟧ --ssh",),
        ("tskey-auth-... goes here", "tskey-client keys expire"),
        worst="tskey-auth-",
    ),
    token(
        "cluster-token",
        "Join tokens of Docker Swarm and K3s let a machine into the cluster.",
        r"(?:SWMTKN-1-[a-z0-9]{40,60}-(?P<b>[a-z0-9]{20,30})|K10[a-f0-9]{64}::(?:server|node|[a-z0-9]{6})[:.][A-Za-z0-9]{16,80})(?![A-Za-z0-9])",
        gate("swmtkn-1- k10"),
        ("docker swarm join --token ⟦SWMTKN-1-{lower:50}-{lower:25}⟧ 10.0.0.1:2377", "⟦K10{hex:64}::server:{hex:32}⟧"),
        ("SWMTKN-1-... is printed by docker swarm",),
        worst="SWMTKN-1-",
        validate=not_placeholder,
    ),
    Rule(
        name="kubeadm-token",
        kind="cluster-token",
        why="Bootstrap tokens of Kubernetes: six and sixteen characters, with a word that says so.",
        pattern=re.compile(r"\.[a-z0-9]{16}(?![A-Za-z0-9_\-]|\.[A-Za-z0-9])"),
        gate=gate("", "kubeadm", "--token", "bootstrap", "authentication,signing"),
        finds=(
            "kubeadm join 10.0.0.1:6443 --token ⟦{lower:6}.{lower:16}⟧ --discovery-token-ca-cert-hash sha256:{hex:64}",
        ),
        leaves=(
            "kubeadm join <host> --token <token>",
            "kubeadm token abcdef.0123456789abcdef",
            "import bootstrap.{hex:16}.css",
            "bootstrap and module.intercontinental",
        ),
        worst="aaaaaa.aaaaaaaaaaaaaaaa",
        validate=bootstrap_token,
    ),
    Rule(
        name="role-secret",
        kind="cloud-secret",
        why="The secret half of an AppRole of Vault or a token of Consul is a UUID that is called an id.",
        pattern=re.compile(
            r"secret[_\-]?id[\"']?[ \t]{0,20}[=:]?[ \t]{0,20}[\"']?(?P<s>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![\w\-])"
        ),
        gate=gate("secret_id secret-id secretid", also=("role", "vault", "accessor", "consul", "bao")),
        finds=("role_id={uuid} secret_id=⟦{uuid}⟧", "SecretID: ⟦{uuid}⟧\nAccessorID: {uuid}"),
        leaves=("the secret_id of a role has a lifetime", "role_id: {uuid}"),
        worst="secret_id role ",
        is_anchored=True,
        is_folded=True,
    ),
    Rule(
        name="proxmox-token",
        kind="cloud-secret",
        why="API tokens of Proxmox: user, realm, name, and a UUID that is the secret.",
        pattern=re.compile(
            r"@(?:pam|pve|pbs)![A-Za-z][\w.\-]{0,40}[=: ]{1,3}(?P<s>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![\w\-])"
        ),
        gate=gate("@pam! @pve! @pbs!"),
        is_anchored=True,
        finds=("Authorization: PVEAPIToken=root@pam!mon=⟦{uuid}⟧", "backup@pbs!nightly ⟦{uuid}⟧"),
        leaves=("root@pam!mon is read only", "@petr! see {uuid}"),
        worst="@pam!a",
    ),
    token(
        "bitwarden-secret",
        "Access tokens of Bitwarden Secrets Manager: id, client secret and key in one.",
        r"0\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.(?P<b>[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22,24}={0,2})",
        gate("0."),
        ("BWS_ACCESS_TOKEN=⟦0.{uuid}.{alnum:30}:{b64:22}==⟧",),
        ("version 0.{hex:8}", "0.5f"),
        worst="0.",
        validate=not_placeholder,
    ),
    token(
        "password-manager-token",
        "Service accounts of 1Password, Infisical, Akeyless, Keeper.",
        r"(?:ops_eyJ|st\.[0-9a-f\-]{24,36}\.|A3-(?=[A-Z0-9]{6}-)|p-[a-z0-9]{12}\.|eyJhbGciOi.{0}|KSM_)(?P<b>[A-Za-z0-9_\-=+/.]{20,}+)",
        gate("ops_eyj ksm_ st. a3-"),
        (
            "OP_SERVICE_ACCOUNT_TOKEN=⟦ops_eyJ{url64:260}⟧",
            "⟦A3-{upper:6}-{upper:6}-{upper:5}-{upper:5}-{upper:5}-{upper:5}⟧",
        ),
        ("ops_eyJ is how they begin", "A3-sized paper"),
        worst="ops_eyJ",
    ),
)
