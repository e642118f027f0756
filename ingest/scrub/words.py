"""The key words of assignments and sentences, as patterns over folded text."""

# ruff: noqa: E501, SIM905  (patterns and word lists read better unbroken)

import re
from collections.abc import Iterable
from typing import Final


def any_of(words: Iterable[str]) -> str:
    """A pattern for the longest of `words`, as a tree: a flat list of a hundred is tried a hundred times a character."""
    heads: dict[str, list[str]] = {}
    is_optional = False
    for word in sorted(set(words)):
        if word:
            heads.setdefault(word[0], []).append(word[1:])
        else:
            is_optional = True
    if not heads:
        return ""
    single = [re.escape(head) for head, rests in heads.items() if rests == [""]]
    branches = [re.escape(head) + any_of(rests) for head, rests in heads.items() if rests != [""]]
    if single:
        branches.append(single[0] if len(single) == 1 else f"[{''.join(single)}]")
    body = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
    if not is_optional:
        return body
    is_atom = len(branches) > 1 or (bool(single) and len(branches) == 1)
    return f"{body}?" if is_atom else f"(?:{body})?"


GLUED_STEMS: Final = (
    "pass",
    "secret",
    "token",
    "key",
    "pwd",
    "credential",
    "sessionid",
    "sessid",
    "heslo",
    "parol",
    "schluessel",
    "api_hash",
    "api-hash",
    "apihash",
    "erlang_cookie",
    "erlangcookie",
    "bw_session",
)
"""Stems that stand in longer names without a border: `userpassword`, `apikey`."""
BORDERED_STEMS: Final = ("pw", "psk")
"""Looked for anywhere, since capitals may be their only border: `olcRootPW`."""
STEM_WORDS: Final = frozenset(
    (
        "pw pswd psk dbpw authtok rootpw adminpw userpw bindpw hesla heslem heslu hesle hesly heslom kennwort contrasena contrasenya clave senha mdp haslo wachtwoord losenord adgangskode adgangskoden kodeord kodeordet "
        "salasana jelszo sifre sifra lozinka geslo sandi geheimnis segredo segreto secreto jeton bearer jwt pat hmac seed seeds totp otp sid phpsessid klic "
        "authorization chiave klucz chave llave sas zaporka hemmelighet sekret macaroon avain kulcs sleutel nyckel masterauth auth slaptazodis tajemstvi cle parool"
    ).split()
)
"""Stems that ordinary words hold as well: only with a border on both sides."""
WIDE_STEMS: Final = (
    "contraseñ", "contraseñ", "hasło", "hasła", "hasłem", "lösenord", "heslá", "jelszó", "şifre", "šifra", "пароль", "парол", "гасло", "лозинк", "κωδικ", "パスワード", "暗証番号",
    "密码", "密碼", "口令", "비밀번호", "암호", "סיסמ", "klíč", "schlüssel", "clé", "ключ", "キー", "密钥", "密鑰", "令牌", "토큰", "токен", "секрет", "トークン", "nøgle",
    "nøkkel", "žeton", "khẩu", "المرور", "السر",
)  # fmt: skip
STEMS: Final = frozenset((*GLUED_STEMS, *BORDERED_STEMS, *WIDE_STEMS))
"""All that are looked for anywhere."""
