"""Names of languages: their codes, and what they are called in English, at home and next door."""

from __future__ import annotations

# ISO 639-1, and of ISO 639-3 what Tatoeba has most of.
CODES = frozenset(
    """aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
    eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka
    kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl
    nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw
    ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    ara ber bul ces cmn dan deu ell eng epo fin fra heb hin hun ind ita jpn kab kor lat lit mar nld nob pes pol por ron
    rus spa srp swe tat tgl tha tur ukr vie zho""".split()
)

# Codes that are words as well, in one language or another; "en" is far more often English.
WORDS = frozenset(
    """am an as ba be bi bo ca co da de el es et fa ga gu ha he hi ho id ie ig ii ik io is it ja ka ki la li lo lu ma
    mi mo my na ne no ny om or os pa pi sa se si so su ta te ti to ve vi vo wa wo yo za
    ara ber bul dan fin hin lat lit mar pol por ron tat""".split()
)

# A language a line, or a word where English alone is known.
_NAMES = """
english englisch anglais inglés inglese inglês engels engelska engelsk angielski английский 英語 英语
german deutsch allemand alemán tedesco alemão duits tyska tysk niemiecki немецкий ドイツ語 德语
french französisch français francés francese francês frans franska fransk francuski французский フランス語 法语
spanish spanisch espagnol español castellano spagnolo espanhol spaans spanska spansk hiszpański испанский スペイン語
italian italienisch italien italiano italiaans italienska italiensk włoski итальянский
portuguese portugiesisch portugais portugués portoghese português portugees portugisiska portugalski
dutch niederländisch néerlandais neerlandés holandés olandese holandês nederlands nederländska holenderski
russian russisch russe ruso russo ryska rosyjski русский ロシア語 俄语
polish polnisch polonais polaco polacco polska polski
chinese chinesisch chinois chino cinese chinês chinees kinesiska mandarin 中文 中国語 汉语
japanese japanisch japonais japonés giapponese japonês japans japanska 日本語 日语
swedish schwedisch suédois sueco svedese zweeds svenska szwedzki
danish dänisch danois danés danese deens dansk danska
norwegian norwegisch norvégien noruego norvegese noors norsk norska
finnish finnisch finnois finés finlandese fins finska suomi
czech tschechisch tchèque checo ceco tsjechisch čeština czeski
hungarian ungarisch hongrois húngaro ungherese magyar węgierski
greek griechisch grec griego greco grieks ελληνικά
turkish türkisch turc turco turks türkçe turecki
arabic arabisch arabe árabe arabo العربية
ukrainian ukrainisch ukrainien ucraniano українська ukraiński
romanian rumänisch roumain rumano rumeno română
hebrew hebräisch hébreu hebreo ebraico עברית
korean koreanisch coréen coreano koreaans 한국어
estonian estnisch estonien eesti
""".strip().split("\n")
_ENGLISH = """afrikaans albanian amharic armenian azerbaijani basque belarusian bengali berber bosnian breton bulgarian
    burmese cantonese catalan cebuano croatian esperanto filipino galician georgian gujarati hausa hindi icelandic igbo
    indonesian irish javanese kabyle kannada kazakh khmer kurdish lao latin latvian lithuanian macedonian malay
    malayalam maltese maori marathi mongolian nepali occitan pashto persian punjabi quechua sanskrit serbian sinhala
    slovak slovene slovenian somali swahili tagalog tamil tatar telugu thai tibetan turkmen urdu uyghur uzbek vietnamese
    welsh wolof xhosa yiddish yoruba zulu""".split()
LANGUAGES = {name: line.split()[0] for line in (*_NAMES, *_ENGLISH) for name in line.split()}
