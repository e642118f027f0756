"""All rules, the most specific families first: the first rule that finds a span names its kind."""

from typing import Final

from ingest.scrub.model import NameRule, Rule
from ingest.scrub.rules import (
    armour,
    assignments,
    chats,
    clouds,
    columns,
    commands,
    forges,
    generic,
    headers,
    logins,
    matrix,
    named_after,
    prose,
    seeds,
    services,
    statements,
    urls,
    webhooks,
)

FAMILIES: Final[tuple[tuple[str, tuple[Rule | NameRule, ...]], ...]] = (
    ("Private keys", armour.RULES),
    ("Matrix", matrix.RULES),
    ("Forges and registries", forges.RULES),
    ("Clouds and infrastructure", clouds.RULES),
    ("Chat and workplaces", chats.RULES),
    ("Payment, mail, AI, monitoring", services.RULES),
    ("Webhooks and secret addresses", webhooks.RULES),
    ("Addresses", urls.RULES),
    ("Headers", headers.RULES),
    ("Seeds", seeds.RULES),
    ("Tokens of any service", generic.RULES),
    ("Command lines", commands.RULES),
    ("Statements and calls", statements.RULES),
    ("Rows and columns", columns.RULES),
    ("Assignments", assignments.RULES),
    ("Sentences", (*prose.RULES, *named_after.RULES)),
    ("Logins", logins.RULES),
)
RULES: Final = tuple(rule for _, rules in FAMILIES for rule in rules)
