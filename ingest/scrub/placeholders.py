"""One test, for all rules, of what stands where a credential would: masks, references, code, dummy words, our own marker.

A dummy is a value that nobody could log in with because the writer meant the reader to put their own there.
"""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from itertools import pairwise
from typing import Final

from ingest.scrub.literals import Literals
from ingest.scrub.shapes import is_wordy

OPEN_MARK: Final = "‹redacted:"
MARKER: Final = re.compile(r"‹redacted:[a-z0-9-]{1,60}›")

MASK_SIGNS: Final = "*xX•●·∙█▪.…_#?-= "
MASKS: Final = ("***", "...", "…", "####", "____", "0" * 12, "%2a%2a")
CROSSES: Final = re.compile("xxxx+")
LONG_CROSS: Final = 6
"""Chance draws four x in a row now and then, but not so many."""
DOTTED: Final = re.compile("[•●█]{2}")
SIGN_REFERENCE: Final = re.compile(
    r"""
      [$%@#]?\{ | \{\{ | \$\( | \$\[ | <% | %\( | %\w+% $ | %[sdqvr]\b(?![^%]{10}) | %$
    | \$[A-Za-z_][\w:]*\W*$ | \$\$?[A-Za-z_]\w*(?:->|::|\[|\.) | \$env: | \$[0-9@*?]$
    | [<\[(](?:your|my|the|some|insert|enter|put|paste|add|replace|set)[ _\-] | [<\[(].*[>\])]$ | <(?!\S*[0-9]\S*$) | &lt;
    | \.{0,2}/(?:[A-Za-z.~_-][\w.~@-]{0,40}/){1,12} | \.{1,2}/ | ~/ | ~$
    | /(?:run|etc|var|home|usr|opt|root|dev|tmp|mnt|srv|proc|secrets?)\b
    | \.\* | \^[\[(\\] | @[A-Za-z_.]+$ | ~[A-Za-z_.]+$ | (?:\\x[0-9A-Fa-f]{2})+$ | \\\$ | \\[A-Za-z(\[{]*$ | \[A-Za-z | \[\^ | \\[wdsSWD]
    """,
    re.X,
)
WORD_REFERENCE: Final = re.compile(
    r"(?:your|my|the|some|insert|enter|put|paste|add|replace|set)[ _\-]|[A-Za-z]:\\|"
    r"(?:file|env|vault|ref|arn|op|keyring|secret|secrets|ssm|awssm|gcpsm|doppler|bws|pass|cmd|exec|literal|data|https?):"
)
CALL: Final = re.compile(
    r"(?:await |new |async )?[A-Za-z_$][\w$]*(?:(?:\.|\?\.|::|->)[A-Za-z_$][\w$]*)*!?(?:\(|\[(?![^\]]*\d{3}))"
)
NAME: Final = r"[_$]{0,2}(?:[a-z_$]+|[A-Z_]+|[A-Z]{0,4}[a-z_]+(?:[A-Z]{1,4}[a-z_]+){0,6}[A-Z]{0,2})\d?"
ATTRIBUTE: Final = re.compile(rf"{NAME}(?:(?:\.|\?\.|::|->){NAME})++(?:\(.*)?")
BASE64: Final = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
DIGIT: Final = re.compile("[0-9]")
INNER_DIGIT: Final = re.compile("[0-9][A-Za-z+]")
FILE_NAME: Final = re.compile(
    r"[\w@./~-]*\.(?:pem|key|crt|cer|p12|pfx|jks|json|ya?ml|toml|ini|cfg|conf|txt|env|py|js|ts|rb|go|sh|php|md|html?|asc|gpg|kdbx?|pub|csv|log|xml|sql|db|exe|zip|gz|so|java|class|svc|local|com|org|net)",
    re.I,
)
CODE_WORD: Final = re.compile(
    r"(?:await|new|async|lambda|function|def|return|not|typeof|yield|raise|throw|import|select)\b[\s(:]", re.I
)
PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-žα-ωа-я]+|\d+")

DUMMY: Final = frozenset(
    """
    a access admin an and any api app application auth aws azure bar base basic baz bearer blah bot change changed changeit
    changeme changethis client code config credential credentials customer db default demo dev dummy empty enter env
    example examples fake false field file fill fixme foo foobar generate generated github gitlab goes here hidden host
    hostname id in insert invalid is it key keys length login long me missing mock mocked my name new nil no none
    not null obtain ok old omitted on optional or our own pass passphrase passwd password passwords placeholder please
    private prod production provide public pw pwd random real redacted removed replace replaced replaceme required sample
    secret secretkey secrets secure service session set several sha shared sk some something staging stored string strip
    stripped test tests the this to todo token tokens true type undefined unknown unset unused use user username users value
    values var variable was with xxx xyz yes you your yours account number text masked censored confidential sanitized
    obfuscated snip snipped redact secretstring str bytes int bool boolean char varchar any object array list dict map tuple
    void self super async await const let final static option some nothing uuid hash digest hex encoded encrypted
    same above below see ask vault keychain keyring inherit include omit origin disabled enabled active inactive wrong
    correct incorrect expired revoked accepted denied rejected protected forgotten reset confirm confirmation repeat again current
    next prev previous first last only field label title name hint prompt input output form page link url uri path
    prefix suffix live pk rk at by of for from generator very super supersecret secretpassword secretpassphrase someclientsecret notasecret mysecret mypassword mytoken myapikey yourpassword
    yourtoken yourapikey yoursecret yourkey apikey apitoken accesstoken authtoken clientsecret somepassword somesecret sometoken
    thepassword oauth oauth2 jwt ssh rsa pem cert certificate json yaml abc abcd abcdef abcdefg abcdefgh xxxx xxxxx qwerty
    heslo hesla tvoje vaše zde doplň doplnit změň změnit skryto passwort kennwort hier dein deine dei ihr ihre geheim
    geändert ändern beispiel contraseña contrasena clave aquí aqui tu su ejemplo secreto cambiar cambiame motdepasse votre mot
    de passe exemple senha sua exemplo tua esempio password1 hasło haslo twoje przykład wachtwoord jouw пароль ваш
    пример lösenord ditt adgangskode passord salasana sinun nieuwe nuevo nouveau neu nové
    option options argument arguments flag flags parameter parameters setting settings localhost lorem ipsum dolor min max between chars characters zeichen znaků caracteres unchanged nochange none specified provided
    given configured unspecified manual auto automatic automatically generated-by
    """.split()
)
DUMMY_NUMBERS: Final = frozenset("0 1 2 3 4 5 12 123 1234 12345 123456789012 00 000 0000 256 32 16 64 24 48 8".split())
DUMMY_WHOLE: Final = frozenset(
    """
    abc123 abc123def456 abc123xyz abcd1234 a1b2c3 a1b2c3d4 a1b2c3d4e5f6 123abc 1234abcd 0123456789abcdef deadbeef cafebabe
    0123456789 1234567890 xyz123 foo123 bar123 token123 key123 secret123 test123 user123 mytoken123 12345678-1234-1234-1234-123456789012
    user:pass user:password username:password admin:password newpass oldpass pa$$word p4ssw0rd passw0rd pa$$w0rd p@ssw0rd s3cr3t s3cret t0ps3cr3t
    """.split()
)
PERIODS: Final = (1, 2, 3, 4, 5, 6, 8)
DRAWN: Final = re.compile(r"[A-Za-z0-9+=_\-]{16,}+")
THREE_DIGITS: Final = re.compile(r"[0-9][^0-9]*+[0-9][^0-9]*+[0-9]")
TELLTALE: Final = Literals(
    "xxxx __ --- 000000 12345 abcd example your token secret password key change replace insert dummy fake sample foo test here redacted".split()
)
"""Without one of these, a value that looks drawn is no placeholder, and the dearer tests are spared."""


def is_ramp(low: str) -> bool:
    """`abcdefghij`, `1234567890`: counted or run down the alphabet, however often, as alphabets and fillers are."""
    size = min(len(low), 64)
    if size < 5:
        return False
    for at in (0, size // 3, size // 2, size - 2):
        if ord(low[at + 1]) - ord(low[at]) in (0, 1):
            break
    else:
        return False
    spare, ones = 0.25 * (size - 1), 0
    for before, after in pairwise(map(ord, low[:size])):
        if after - before == 1:
            ones += 1
        elif after != before:
            spare -= 1
            if spare < 0:
                return False
    return ones > 3


def is_repeat(low: str) -> bool:
    """One short piece over and over: `aaaa`, `deadbeefdeadbeef`, `0000-0000`."""
    if len(set(low)) <= 2:
        return True
    for n in PERIODS:
        if len(low) < 2 * n:
            break
        if low[n] == low[0] and low[n:] == low[:-n]:
            return True
    return False


def is_mask(value: str) -> bool:
    stripped = value.strip(MASK_SIGNS)
    if not stripped or (len(set(value)) <= 2 and len(value) >= 3):
        return True
    low = value.lower()
    for mask in MASKS:  # a pattern of them all is ten times slower
        if mask in low:
            return True
    if "xxxx" in low and (max(map(len, CROSSES.findall(low))) >= LONG_CROSS or not is_mixed(value)):
        return True
    return not low.isascii() and bool(DOTTED.search(low))


def is_mixed(value: str) -> bool:
    """Long, with digits among letters of both cases, or among letters that no word has: as a machine draws it."""
    distinct = len(set(value))
    if len(value) < 16 or distinct < 10 or is_wordy(value):
        return False
    if value.lower() != value != value.upper():
        return distinct >= 14 or bool(DIGIT.search(value))
    return distinct >= 12 and bool(THREE_DIGITS.search(value))


def is_dummy(value: str, low: str) -> bool:
    """Built from words that stand for a credential: `your-api-key`, `CHANGE_ME`, `insert-client-secret-here`."""
    if low in DUMMY_WHOLE or "example" in low or "redacted" in low or "changeme" in low or "placeholder" in low:
        return True
    length, has_word = 0, False
    for match in PARTS.finditer(value):
        part = match[0]
        length += len(part)
        if part.isdigit():
            if part not in DUMMY_NUMBERS:
                return False
        elif part.lower() not in DUMMY:
            return False
        else:
            has_word = True
    return has_word and length >= 0.6 * len(value)


def is_drawn_with_slashes(value: str) -> bool:
    """Base64 that begins with a slash: a part of it that no folder is called, with both cases and a digit inside."""
    if not BASE64.fullmatch(value) or not is_mixed(value):
        return False
    return any(
        part.lower() != part != part.upper()
        and ((len(part) >= 8 and INNER_DIGIT.search(part)) or (len(part) >= 14 and not is_wordy(part)))
        for part in value.split("/")
    )


def is_reference(value: str) -> bool:
    if value[0] == "/" and is_drawn_with_slashes(value.split(maxsplit=1)[0]):
        return False
    pattern = WORD_REFERENCE if value[0].isalnum() else SIGN_REFERENCE
    return bool(pattern.match(value)) or ("." in value and bool(FILE_NAME.fullmatch(value)))


def is_code(value: str) -> bool:
    """An unquoted value that a program computes: a call, an attribute, an index, an expression."""
    return bool(
        (("(" in value or "[" in value) and CALL.match(value))
        or (("." in value or ":" in value or ">" in value) and ATTRIBUTE.fullmatch(value))
        or (" " in value and CODE_WORD.match(value))
    )


def is_placeholder(value: str, *, quoted: bool = False) -> bool:
    """Quoted values are never code, but they may well be references and dummies."""
    low = value.lower()
    if DRAWN.fullmatch(value) and len(set(value)) > 9 and not TELLTALE.find(low):
        return is_ramp(low) or (not THREE_DIGITS.search(value) and is_dummy(value, low))
    if "[^" in value or "‹" in value or "›" in value or "\0" in value:
        return True
    bare = value.strip(" \t\"'`")
    if not bare or is_mask(bare) or is_reference(bare) or (not quoted and is_code(bare)):
        return True
    low = low.strip(" \t\"'`")
    return is_ramp(low) or is_repeat(low) or is_dummy(bare, low)
