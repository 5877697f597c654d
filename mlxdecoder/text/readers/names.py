"""Names that people give to columns and keys: of languages, and of the two sides."""

from __future__ import annotations

import re
from collections.abc import Sequence

BESIDE = frozenset(["id", "index", "nr", "number", "score", "comment", "comments", "note", "notes"])

_SIDES = (
    ("source", "target"),
    ("src", "tgt"),
    ("src", "trg"),
    ("source", "translation"),
    ("original", "translation"),
    ("text", "translation"),
    ("sentence", "translation"),
    ("input", "output"),
)
_WORDS = frozenset(word for side in _SIDES for word in side) | frozenset(
    "lang language phrase phrases reference sentences texts translated translations word words".split()
)

# ISO 639-1, and of ISO 639-3 what Tatoeba has most of.
_CODES = frozenset(
    """aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
    eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka
    kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl
    nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw
    ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    ara ber bul ces cmn dan deu ell eng epo fin fra heb hin hun ind ita jpn kab kor lat lit mar nld nob pes pol por ron
    rus spa srp swe tat tgl tha tur ukr vie zho""".split()
)
_LANGUAGES = frozenset(
    """afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali berber bosnian breton bulgarian
    burmese cantonese catalan cebuano chinese croatian czech danish dutch english esperanto estonian filipino finnish
    french galician georgian german greek gujarati hausa hebrew hindi hungarian icelandic igbo indonesian irish italian
    japanese javanese kabyle kannada kazakh khmer korean kurdish lao latin latvian lithuanian macedonian malay malayalam
    maltese mandarin maori marathi mongolian nepali norwegian occitan pashto persian polish portuguese punjabi quechua
    romanian russian sanskrit serbian sinhala slovak slovene slovenian somali spanish swahili swedish tagalog tamil
    tatar telugu thai tibetan turkish turkmen ukrainian urdu uyghur uzbek vietnamese welsh wolof xhosa yiddish yoruba
    zulu العربية čeština dansk deutsch ελληνικά español eesti suomi français עברית magyar italiano 日本語 한국어
    nederlands norsk polski português română русский svenska türkçe українська 中文""".split()
)


def is_language(name: str) -> bool:
    """Whether this names a language and nothing but it: "English", "fr", "en-GB", "text_de", "French sentence"."""
    words = [word for word in _words(name) if word not in _WORDS]
    known = [word in _LANGUAGES or word in _CODES for word in words]
    regional = len(words) == 2 and known[0] and len(words[1]) <= 4
    return bool(known) and (all(known) or regional)


def is_name(text: str) -> bool:
    """Whether a cell of a table may well be the name of its column rather than a text."""
    words = _words(text)
    return is_language(text) or (bool(words) and _WORDS.issuperset(words))


def two_sides(names: Sequence[str]) -> tuple[int, int] | None:
    """The places of source and target among names of columns or keys, where the names tell it."""
    folded = [name.strip().casefold() for name in names]
    for source, target in _SIDES:
        if source in folded and target in folded:
            return folded.index(source), folded.index(target)
    languages = [place for place, name in enumerate(names) if is_language(name)]
    if len(languages) > 2:  # "id" is a number rather than Indonesian
        languages = [place for place in languages if folded[place] not in BESIDE]
    return (languages[0], languages[1]) if len(languages) >= 2 else None


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", name.casefold()) if len(name) <= 40 else []
