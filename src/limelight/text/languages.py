"""Detect text that is not in its declared language; only certain contradictions are reported. Names of languages by
their codes.

Two criteria, both for whole samples and not for single sentences: the script of most letters, and, for common languages
in Latin and Cyrillic script, the share of words that are among the most frequent ones of a language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from unicodedata import name, normalize

NAMES = {
    "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali", "br": "Breton",
    "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "ko": "Korean", "la": "Latin", "lb": "Luxembourgish",
    "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi",
    "ms": "Malay", "mt": "Maltese", "nb": "Norwegian Bokmål", "ne": "Nepali", "nl": "Dutch", "no": "Norwegian",
    "oc": "Occitan", "pa": "Punjabi", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip

OWN_NAMES = {
    "deutsch": "de", "englisch": "en", "français": "fr", "anglais": "en", "französisch": "fr", "allemand": "de",
    "español": "es", "italiano": "it", "português": "pt", "nederlands": "nl", "polski": "pl", "svenska": "sv",
    "dansk": "da", "norsk": "no", "suomi": "fi", "čeština": "cs", "türkçe": "tr", "русский": "ru", "українська": "uk",
    "中文": "zh", "日本語": "ja", "한국어": "ko", "العربية": "ar",
}  # fmt: skip
"""Names of languages in some of these languages."""

REGIONS = {"US": "American", "GB": "British", "BR": "Brazilian", "PT": "European"}


def code_of(name: str) -> str:
    """`de` for `German` and `Deutsch`; empty if it is not the name of a language."""
    lowered = name.strip().lower()
    return OWN_NAMES.get(lowered) or next((code for code, known in NAMES.items() if known.lower() == lowered), "")


def language_name(code: str) -> str:
    """`German` for `de`, `English (British)` for `en-GB`; a code that is not known is its own name."""
    base, _, region = code.replace("_", "-").partition("-")
    name = NAMES.get(base.lower(), code)
    return f"{name} ({REGIONS.get(region.upper(), region)})" if region and name != code else name


MIN_LETTERS, MIN_WORDS = 200, 150
"""Minimum size of a sample."""
DOMINANT = 0.8
"""Minimum share of letters of one script for which a sample is said to be in it."""
PRESENT, TIMES = 0.1, 3.0
"""A sample is in another language if function words of only that language are at least this share of its words, and at
least so many times as frequent as function words of only the declared language."""

_SCRIPTS = """
latin: af ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it lb lt lv mt nl no pl pt ro sk sl sq sv sw tl tr vi
latin: sr bs az uz kk tt ms
cyrillic: be bg ky mk ru uk sr bs az uz kk tt tg mn
mongolian: mn
arabic: ar fa ps ur ms tg pa
devanagari: hi mr ne sa
bengali: bn as
gurmukhi: pa
han: zh ja
bopomofo: zh
kana: ja
hangul: ko
greek: el
hebrew: he yi
armenian: hy
georgian: ka
thai: th
lao: lo
khmer: km
myanmar: my
tibetan: bo
ethiopic: am
gujarati: gu
tamil: ta
telugu: te
kannada: kn
malayalam: ml
sinhala: si
oriya: or
"""
"""The scripts, each with the languages that use it; other languages are not checked."""

_FUNCTION_WORDS = """
cs: a se v na je že s z do to o k i jako ale za by si jsem po jsou od které který pro tak jeho ve už jen byl být mě
da: og i at det er en til på som for af de med den ikke jeg har et vi han du var kan der om fra men så hvad mig min
de: der die und das ist in zu den nicht ein eine sich mit es auf ich er sie wir dem des im für von als auch hat wie
en: the of and to in is a that it was he for on are with as his they at be this have from or had by not but what
es: de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si muy sin
fi: ja on ei se että hän oli mutta ovat kun niin kuin mitä ole joka minä tämä olen vain jos sen hänen en nyt myös
fr: de la le et les des en un du une que est dans qui par pour au sur pas plus il ne se ce je vous nous elle avec son
hu: a az és hogy nem is egy van ez meg csak de volt már mint még azt ki én ha el te mi itt nagyon kell lesz vagy
id: yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya ke karena ada mereka kami bisa adalah kita
it: di e il la che è in un per non una sono del si della da le con i come al mi ma lo ha più nel se gli anche ho
nl: de het een van en in is dat op te zijn voor met die niet aan er om ook als dan maar bij uit nog naar ik je hij
no: og i det er på som en til at for av ikke med den de jeg har et vi han du var kan om fra men så hva meg seg
pl: i w na z się nie że do to jest o jak ale po co tak od za już jego przez tylko czy był dla jej ma są przy mnie
pt: de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua
ro: și de în la a cu nu o un pe că este din se care sunt pentru mai ce să au fost dar o îi am lui său ca sau
sk: a sa v na je že s z do to o k aj ako ale za by si som po sú od ktoré ktorý pre tak jeho vo už len bol byť ma
sv: och i att det som en på är av för med den till inte har de om ett han var jag så kan vi från men du hon sig
tr: ve bir bu da de için ne o çok ile mi gibi ama var daha ben en kadar sonra değil ki her şey olarak sen biz onun
vi: và của là có không được trong cho một những này với người đã các đó tôi để khi như cũng về ra anh ở nhưng
bg: и на да се в не е за от с че са по като но си аз той което този или ще беше съм му това бе тя
ru: и в не на я что он с как это а то все она так его но да ты к у же вы за бы по мы от из о когда
uk: і в не на я що він з як це та але до за вона його ти ми від про у й бо так для або коли був чи
"""
"""The most frequent function words of common languages."""

_NEAR = ({"da", "no", "sv"}, {"cs", "sk"}, {"es", "pt"}, {"ru", "uk", "bg"})
"""Groups of similar languages, which are not distinguished from one another."""

_OTHER_CODES = {
    "nb": "no", "nn": "no", "eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it",
    "por": "pt", "nld": "nl", "dut": "nl", "rus": "ru", "ukr": "uk", "pol": "pl", "ces": "cs", "cze": "cs", "jpn": "ja",
    "zho": "zh", "chi": "zh", "cmn": "zh", "kor": "ko", "ara": "ar", "heb": "he", "ell": "el", "gre": "el", "hin": "hi",
    "swe": "sv", "dan": "da", "nor": "no", "fin": "fi", "tur": "tr", "hun": "hu", "ron": "ro", "rum": "ro", "vie": "vi",
}  # fmt: skip

_FAMILIES = {"cjk": "han", "hiragana": "kana", "katakana": "kana", "katakana-hiragana": "kana"}
WORD = re.compile(r"[^\W\d_]+")

MIN_DIFFERENT = 4
"""Different function words of another language that a text in it has at least: one of them alone may be a name or a
part of a code, such as the "a" of "a7"."""


def contradiction(texts: Sequence[str], language: str) -> str:
    """Why a sample of texts cannot be in `language` (a code like `de`, `deu` or `de-AT`); empty if uncertain.

    >>> contradiction(["Собака бежит по траве, а кошка спит."] * 10, "en")
    'is in Cyrillic script'
    """
    code = normal_code(language)
    other = _other_script(texts, code)
    table = function_words()
    if other or code not in table:
        return other
    words = _words(texts)
    if words.total() < MIN_WORDS:
        return ""
    best = max(table, key=lambda each: _count(words, table[each], ()))
    theirs, own = _count(words, table[best], table[code]), _count(words, table[code], table[best])
    different = sum(words[word] > 0 for word in table[best] if word not in table[code])
    sure = theirs >= PRESENT * words.total() and theirs >= TIMES * own and different >= MIN_DIFFERENT
    return f"looks like {best}" if sure and not any({best, code} <= group for group in _NEAR) else ""


def likely_language(texts: Sequence[str]) -> str:
    """The language that a sample of texts is in, if it is one of the known ones; empty if uncertain.

    >>> likely_language(["Der Hund und die Katze sind nicht in dem Haus, und ich bin es auch nicht."] * 10)
    'de'
    """
    counts = Counter(script_of(letter) for text in texts for letter in text if letter.isalpha())
    if counts.total() < MIN_LETTERS:
        return ""
    script, count = counts.most_common(1)[0]
    if counts["kana"] >= 0.2 * counts.total():
        return "ja"
    if script not in ("latin", "cyrillic"):
        codes = [code for code, scripts in _scripts().items() if script in scripts]
        return codes[0] if codes and count >= DOMINANT * counts.total() else ""
    table, words = function_words(), _words(texts)
    if words.total() < MIN_WORDS:
        return ""
    best, *others = sorted(table, key=lambda each: -_count(words, table[each], ()))
    rival = next(each for each in others if not any({best, each} <= group for group in _NEAR))
    theirs, own = _count(words, table[best], table[rival]), _count(words, table[rival], table[best])
    return best if theirs >= PRESENT * words.total() and theirs >= TIMES * own else ""


def language_margin(text: str, one: str, other: str) -> int:
    """How many words of a text speak for the language `one` rather than the `other`; if these have different scripts,
    how many letters do."""
    table, scripts = function_words(), _scripts()
    one, other = normal_code(one), normal_code(other)
    if one in table and other in table and scripts[one] == scripts[other]:
        words = _words([text])
        return _count(words, table[one], table[other]) - _count(words, table[other], table[one])
    letters = [script_of(letter) for letter in text if letter.isalpha()]
    ours, theirs = (scripts.get(code, set()) for code in (one, other))
    return sum((each in ours - theirs) - (each in theirs - ours) for each in letters)


_ELIDED = re.compile(r"['’]\w+")
"""What follows an apostrophe is not a word of its own (I've got Tom's keys)."""
MIN_FOREIGN = 3
"""Different function words of another language, and none of its own, for which a single text is in that language."""


def foreign_language(text: str, language: str) -> str:
    """The language that a single text is in, if that is certainly not `language`; else empty.

    >>> foreign_language("Das ist nicht für die Katze.", "en")
    'de'
    """
    code = normal_code(language)
    other = _foreign_script(text, code)
    table = function_words()
    if other or code not in table:
        return other
    words = set(WORD.findall(_ELIDED.sub("", normalize("NFC", text.lower()))))
    own = table[code].keys()
    best, count = "", MIN_FOREIGN - 1
    for each, known in table.items():
        found = len(words & (known.keys() - own))
        if found > count and not any({each, code} <= group for group in _NEAR):
            best, count = each, found
    return best if best and len(words & (own - table[best].keys())) == 0 else ""


def _foreign_script(text: str, code: str) -> str:
    """The script of most letters of a text, if its language is not written in it."""
    own = scripts_of(code)
    letters = [script_of(letter) for letter in text if letter.isalpha()] if own and not text.isascii() else []
    if text.isascii() and own and "latin" not in own:
        letters = ["latin" for letter in text if letter.isalpha()]
    if len(letters) < 12 or (own & {"han", "kana", "hangul"} and set(letters) & own):
        return ""
    script, count = Counter(letters).most_common(1)[0]
    return f"{script} script" if script not in own and count >= DOMINANT * len(letters) else ""


@lru_cache(maxsize=1024)
def normal_code(language: str) -> str:
    """`de` for `de-AT`, `DE_at`, `de@formal` and `deu`."""
    code = re.split(r"[-_@]", language.lower(), maxsplit=1)[0]
    return _OTHER_CODES.get(code, code)


@cache
def function_words() -> dict[str, dict[str, None]]:
    """The most frequent function words of common languages, in order."""
    rows = (line.split(": ") for line in _FUNCTION_WORDS.strip().splitlines())
    return {code: dict.fromkeys(words.split()) for code, words in rows}


def scripts_of(code: str) -> set[str]:
    """The scripts in which a language is written; empty if unknown."""
    return _scripts().get(code, set())


@cache
def _scripts() -> dict[str, set[str]]:
    scripts: dict[str, set[str]] = {}
    for line in _SCRIPTS.strip().splitlines():
        script, codes = line.split(": ")
        for code in codes.split():
            scripts.setdefault(code, set()).add(script)
    return scripts


def _words(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in WORD.findall(normalize("NFC", text.lower())))


def _count(words: Counter[str], some: Collection[str], without: Collection[str]) -> int:
    return sum(words[word] for word in some if word not in without)


def _other_script(texts: Sequence[str], code: str) -> str:
    counts = Counter(script_of(letter) for text in texts for letter in text if letter.isalpha())
    total = counts.total()
    own = scripts_of(code)
    if total < MIN_LETTERS or not own:
        return ""
    script, count = counts.most_common(1)[0]
    if code == "zh" and counts["kana"] >= 0.2 * total:
        return "has kana and looks like ja"
    if script not in own and count >= DOMINANT * total:
        return f"is in {script.capitalize()} script"
    if code == "ja" and count >= DOMINANT * total and script == "han" and not counts["kana"]:
        return "has no kana and looks like zh"
    return ""


@cache
def script_of(letter: str) -> str:
    """The script (`latin`, `cyrillic`, `han`), by the first word of the letter's Unicode name."""
    first = name(letter, "unknown").split()[0].lower()
    return _FAMILIES.get(first, first)
