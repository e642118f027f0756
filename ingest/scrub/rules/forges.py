"""Tokens of code forges and of package registries and CI services around them."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

from typing import Final

from ingest.scrub.checksums import is_github_checked
from ingest.scrub.model import Rule, gate
from ingest.scrub.rules.shape import checked, drawn, not_placeholder, token

RULES: Final[tuple[Rule, ...]] = (
    token(
        "github-token",
        "Classic, OAuth, user, server and refresh tokens of GitHub; the CRC proves most, a cut one is still a secret.",
        r"gh[a-z]_(?P<b>[A-Za-z0-9]{14,255}+)",
        gate("ghp_ gho_ ghu_ ghs_ ghr_ ghv_"),
        (
            "GITHUB_TOKEN=⟦{github:ghp_}⟧",
            "remote: https://x-access-token:⟦{github:ghs_}⟧@git.example.org/a/b.git",
            "new one:⟦gho_{alnum:36}⟧,",
        ),
        (
            "GitHub tokens start with ghp_ and are 40 characters long",
            "grep -rE 'gh[a-z]_\\w{36}' .",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ),
        worst="ghp_",
        validate=checked(is_github_checked),
    ),
    token(
        "github-fine-grained-token",
        "Fine-grained personal tokens of GitHub.",
        r"github_pat_(?P<b>[A-Za-z0-9_]{16,255}+)",
        gate("github_pat_"),
        ("gh_pat: ⟦github_pat_{alnum:22}_{alnum:59}⟧",),
        ("github_pat_your_token_here", "a fine-grained token begins with github_pat_"),
        kind="github-token",
        worst="github_pat_",
    ),
    token(
        "gitlab-token",
        "Every prefix that GitLab gives its tokens: personal, deploy, runner, trigger, feed, agent, OAuth, SCIM, feature flags.",
        r"(?:gl(?:pat|dt|rtr|rt|ptt|ft|imt|agent|oas|soat|cbt|ffct|wt|oat|fc)-|GR1348941)(?P<b>[A-Za-z0-9_\-]{14,300}+(?:\.[A-Za-z0-9]{2,40}+){0,3}+)",
        gate(
            "glpat- gldt- glrt- glrtr- glptt- glft- glimt- glagent- gloas- glsoat- glcbt- glffct- glwt- gloat- glfc- "
            "gr1348941"
        ),
        ("CI_TOKEN=⟦glpat-{url64:20}⟧", "RUNNER: ⟦glrt-{url64:20}⟧", "register with ⟦GR1348941{url64:20}⟧ please"),
        ("glpat is a prefix", "GITLAB_TOKEN=glpat-xxxxxxxxxxxxxxxxxxxx"),
        worst="glpat-",
    ),
    token(
        "bitbucket-token",
        "App passwords and API tokens of Bitbucket and Atlassian.",
        r"(?:ATBB|ATCTT3xFfGF0|ATATT3xFfGF0|ATOATT3xFfGF0|BBDC-)(?P<b>[A-Za-z0-9_\-=]{20,400}+)",
        gate("atbb atatt3xffgf0 atctt3xffgf0 atoatt3xffgf0 bbdc-"),
        ("bitbucket: ⟦ATBB{alnum:32}⟧", "JIRA_TOKEN=⟦ATATT3xFfGF0{url64:170}⟧", "data center: ⟦BBDC-{alnum:44}⟧"),
        ("ATBB is how they begin",),
        worst="ATBB",
        validate=drawn(16),
    ),
    token(
        "gitea-token",
        "Actions runner and future prefixed tokens of Gitea and Forgejo; their 40 hex digits need a named slot.",
        r"(?:gt[aeo]?_|fjo?_|frt_|gitea_|forgejo_|codeberg_)(?P<b>[A-Za-z0-9]{24,200}+)",
        gate("gt_ gta_ gte_ gto_ fj_ fjo_ frt_ gitea_ forgejo_ codeberg_"),
        ("runner: ⟦gta_{alnum:40}⟧",),
        ("gitea_runner_registration_timeout",),
        worst="gta_",
        validate=drawn(20),
    ),
    token(
        "npm-token",
        "Publishing rights on the npm registry; the last six characters are a CRC.",
        r"npm_(?P<b>[A-Za-z0-9]{14,255}+)",
        gate("npm_"),
        ("//npm.example.org/:_authToken=⟦{github:npm_}⟧", "npm secret: ⟦npm_{alnum:36}⟧"),
        ("npm_config_registry", "an npm token begins with npm_", "npm_package_version"),
        worst="npm_",
        validate=checked(is_github_checked, 14),
    ),
    token(
        "pypi-token",
        "Macaroons of PyPI and TestPyPI; the prefix is their encoded location.",
        r"pypi-AgE(?P<b>[A-Za-z0-9_\-]{24,}+)",
        gate("pypi-age"),
        ("twine upload -u __token__ -p ⟦pypi-AgEIcHlwaS5vcmc{url64:150}⟧ dist/*",),
        ("pypi-AgEIcHlwaS5vcmc is the fixed part", "pypi-publish"),
        worst="pypi-AgE",
        validate=drawn(16),
    ),
    token(
        "package-registry-token",
        "RubyGems, NuGet, crates.io, Clojars, Hex, Packagist, JFrog, Docker Hub: each lets somebody publish.",
        r"(?:rubygems_(?=[a-f0-9])|oy2(?=[a-z0-9]{43})|cio(?=[A-Za-z0-9]{32})|CLOJARS_|hex_|packagist_(?:[a-z]+_)?|AKCp(?=[A-Za-z0-9]{8})|"
        r"dckr_(?:pat|oat)_|cmVmd(?=[A-Za-z0-9]{30})|jsr[pt]_|dapi_|conda_|anaconda_|cf[lu]_)(?P<b>[A-Za-z0-9_\-]{20,200}+)",
        gate("rubygems_ clojars_ packagist_ dckr_ jsrt_ jsrp_ conda_ anaconda_ hex_ cfl_ cfu_ oy2 cio akcp cmvmd"),
        (
            "GEM_HOST_API_KEY=⟦rubygems_{hex:48}⟧",
            "docker: ⟦dckr_pat_{url64:27}⟧",
            "nuget ⟦oy2{lower:43}⟧",
            "cargo login ⟦cio{alnum:32}⟧",
        ),
        ("rubygems_version_requirement_met", "social engineering", "hex_digest_of_the_package_file"),
        worst="oy2",
        validate=drawn(20),
    ),
    token(
        "dotted-token",
        "YouTrack, Hub and Harness: a prefix and parts with full stops between them.",
        r"(?:perm[:\-][A-Za-z0-9+/=]{4,200}\.[A-Za-z0-9+/=]{4,200}\.(?P<b>[A-Za-z0-9+/=]{24,}+)|[ps]at\.[A-Za-z0-9_\-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}(?![A-Za-z0-9]))",
        gate("perm: perm- pat. sat."),
        ("YouTrack ⟦perm:{b64:12}=.{b64:20}==.{alnum:44}⟧", "⟦pat.{url64:22}.{hex:24}.{alnum:20}⟧"),
        ("perm: read.write.execute", "format.pattern.pat.name"),
        kind="service-token",
        worst="perm:aaaa.",
        validate=not_placeholder,
    ),
    token(
        "ci-token",
        "CircleCI, Travis, Buildkite, Codecov-style and Sonar tokens.",
        r"(?:CCIP(?:AT|RJ)_[A-Za-z0-9]{0,40}_?|bk[a-z]{1,4}_|sq[apu]_|codecov_|semaphore_|dr_|drone_|tc_)(?P<b>[A-Za-z0-9_\-]{24,200}+)",
        gate("ccipat_ cciprj_ bkua_ bkct_ bkaj_ bkat_ sqp_ squ_ sqa_ codecov_ semaphore_ drone_"),
        ("CIRCLE_TOKEN=⟦CCIPAT_{alnum:22}_{hex:40}⟧", "sonar: ⟦sqp_{hex:40}⟧", "⟦bkua_{hex:40}⟧"),
        ("codecov_report_uploaded_to_the_server",),
        worst="bkua_",
        validate=drawn(20),
    ),
)
