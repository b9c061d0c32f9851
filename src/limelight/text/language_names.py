"""Languages by their codes, as APIs list them."""

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
