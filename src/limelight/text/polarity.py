"""Check whether a translation says the opposite: a negation that only one side has, one of several that is lost, or
"must not" for "need not".

The tables cover English, German and French; other languages are not checked. The check only compares words, so it can
warn, but it cannot repair: where the negation belongs is not known. French "ne doit pas" is read as "must not"; a few
writers mean "need not".
"""

import re
from typing import NamedTuple


def _words(*alternatives: str) -> re.Pattern[str]:
    """Matches whole words of lower-cased text."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)")


class Polarity(NamedTuple):
    """Words of a language."""

    parts: tuple[str, ...]
    """What a text with a negation contains: most texts have none of these. Empty if most have one."""
    negation: re.Pattern[str]
    """Words that negate."""
    counted: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]
    """What counts the negations of a text that has several: the pattern with most matches, each with what its matches
    contain. Words that belong together, such as "ne" and "pas", are one negation."""
    hints: re.Pattern[str]
    """Words that can translate a negation, or be translated by one: a side with such a word does not lack one."""
    tags: re.Pattern[str]
    """Question tags, whose negation means nothing."""
    forbidden: re.Pattern[str]
    """Expressions for "must not", and words that mean it beside a negation."""
    unneeded: re.Pattern[str]
    """The same for "need not"."""


_PARTS = {
    "en": ("no", "n't", "n’t", "never", "neither", "without"),
    "de": ("ni", "kein", "ohne", "nein", "nee", "weder"),
}
_NE = r"(?:ne |n['’](?!importe))(?![^.!?;]{0,40}?\bqu(?:e\b|['’]))\w*"
"""The first part of a French negation; "ne ... que" is "only"."""

_PAS = r"(?<!\bun )(?<!\bde )(?<!\bses )(?<!\bmes )pas"
"""The second part, not a step."""

LANGUAGES = {
    "en": Polarity(
        parts=_PARTS["en"],
        negation=_words(
            r"not|cannot|\w+n['’]t|no(?!\.? ?\d)|none|nobody|no one|nothing|nowhere|never|neither|nor|without",
        ),
        counted=(
            (
                _PARTS["en"],
                _words(
                    r"not(?! only)|cannot|\w+n['’]t|no(?!\.? ?\d| matter)|none|nobody|no one|(?<!for )nothing|nowhere",
                    r"never|neither|without",
                ),
            ),
        ),
        hints=_words(
            r"hardly|scarcely|barely|seldom|rarely|ever|unless|otherwise|few|little|free|most|out|\w+out",
            r"wrong|false|absent|gone|lost|fail\w*|refus\w*|lack\w*|avoid\w*|ignor\w*|differ\w*|broke\w*|stop\w*|prevent\w*",
            r"un\w{3,}|inva\w+|incom\w+|ir\w{4,}|ill\w+|dis\w+|mis\w+|non\w*|\w+less",
        ),
        tags=re.compile(r",? \w+n['’]t (?:i|you|he|she|it|we|they|there)\s?\?"),
        forbidden=_words(
            r"must(?: not|n['’]t)(?! necessarily)|not (?:allowed|permitted) to",
            r"may not(?! (?:necessarily|even|always|be|have|need|seem|look|know)\b)",  # "may not be" is a doubt
        ),
        unneeded=_words(
            r"(?:do|does|did|will|would)(?: not|n['’]t) (?:have|need) to",
            r"need(?: not|n['’]t)|(?:has|have|had) no need to",
        ),
    ),
    "de": Polarity(
        parts=_PARTS["de"],
        negation=_words(r"nicht|nichts|nie|niemals|niemand\w*|nirgend\w*|kein\w*|ohne|nein|nee|weder|nix"),
        counted=(
            (
                _PARTS["de"],
                _words(
                    r"(?<!selbst )(?<!auch )nicht(?! nur| wahr)|nichts|nie|niemals|niemand\w*|nirgend\w*|kein\w*|ohne",
                    r"nein|nee|weder|nix",
                ),
            ),
        ),
        hints=_words(
            r"kaum|selten|wenig\w*|erst|nur|lediglich|doch|sonst|außer|trotz\w*|leer\w*|nackt\w*|frei\w*|\w*frei",
            r"egal|gleichgültig|invalid\w*|ignor\w*|un\w{3,}|miss\w*|fehl\w*|\w*los(?:e[rnms]?)?|verbot\w*|verbiet\w*",
            r"verzicht\w*|verg[aeiä]ss\w*|vergaß\w*|vermeid\w*|verhinder\w*|\w*weiger\w*",
        ),
        tags=re.compile(r", (?:oder )?(?:etwa )?nicht(?: wahr)?\s?\?"),
        forbidden=_words(r"darf\w*|dürf\w*|durf\w*"),
        unneeded=_words(r"muss\w*|müss\w*|brauch\w*"),
    ),
    "fr": Polarity(
        parts=(),
        negation=_words(
            rf"{_PAS}|jamais|rien|aucune?s?|personne(?= n[e'’])|sans|ni|nulle part|non",
            _NE,
        ),
        counted=(
            (("ne ", "n'", "n’", "sans", "non"), _words(_NE, r"sans(?! cesse| doute)|non(?! plus| pas| seulement)")),
            (("pas",), _words(rf"(?<!pas à ){_PAS}")),  # "ne" is often not spoken
        ),
        hints=_words(
            r"ne|n['’]\w+|pas|personne|guère|peu|moins|seul\w*|rare\w*|sinon|autrement|hors|nue?s?|faux|gratis",
            r"égal\w*|importe|ignor\w*|fich\w*|refus\w*|empêch\w*|évit\w*|arrêt\w*|cess\w*|manqu\w*|interdi\w*",
            r"in\w{3,}|im\w{3,}|ir\w{4,}|dés\w+",
        ),
        tags=re.compile(r",? n['’]est[- ]ce pas|, non\s?\?|, pas vrai"),
        forbidden=_words(
            r"pas le droit|interdit\w*|défendu\w*",
            r"ne d(?:oi[st]|oivent|ev(?:ons|ez|ais|ait|ions|iez|aient|ra[is]?|rons|rez|ront))(?: \w+)? (?:pas|jamais)",
            r"ne faut(?: \w+)? (?:pas|jamais)(?! [^.!?]{0,20}(?:souci|en faire|en vouloir)\b)",
        ),
        unneeded=_words(r"(?:n['’]|ne )\w+ (?:pas|aucun|nul) (?:besoin|obligée?s?|nécessaire|la peine)"),
    ),
}
"""What is compared, by language code."""

_UNLESS = {"en": "unless", "de": "es sei denn", "fr": "à moins qu"}
"""Conditions under which something else holds."""
_EXCEPTIONS = {
    "en": _words(
        r"unless|except\w*|otherwise|until|till|without|before|else|only|but|long as|other than|save",
        r"(?:if|when)\b[^,.;!?]*(?:not|n['’]t|no|never|none|nothing)",
    ),
    "de": _words(
        r"es sei denn|au(?:ß|ss)er|sofern|solange|ohne|sonst|bevor|ehe|bis|nur|ausgenommen|andernfalls|erst",
        r"(?:wenn|falls)\b[^.;!?]*(?:nicht|nichts|kein\w*|nie\w*)",
    ),
    "fr": _words(
        r"à moins|sauf|sinon|tant que|sans|excepté|avant|jusqu\w*|hormis|seulement|que si|uniquement|autrement",
        r"(?:si|s['’]ils?)\b[^,.;!?]*(?:ne|n['’]\w+|pas)",
    ),
}
"""What says the same."""
_NOT_UN = {
    "en": _words(
        r"(?:not|\w+n['’]t)(?: \w+)? un(?:important|common|usual|known|likely|fair|happy|kind|friendly|healthy|safe"
        r"|wise|reasonable|interesting|necessary|related|pleasant|justified|expected|aware)",
    ),
    "de": _words(
        r"nicht(?: \w+)? un(?:wichtig|möglich|bekannt|gewöhnlich|üblich|wahrscheinlich|fair|glücklich|freundlich"
        r"|gesund|sicher|klug|vernünftig|interessant|nötig|angenehm|berechtigt|begründet|erwartet|schuldig)",
    ),
    "fr": _words(
        r"pas(?: \w+)? (?:in(?:utile|habituel(?:le)?|juste)|impossible|improbable|imprudent|inattendue?)",
    ),
}
"""Two negations of which the second is a part of a word: "not unimportant"."""
_IN = _words(r"(?:im[mp](?!ort)|in(?!t|form|side|clu)|ir)\w{4,}")
"""Words that may say the second one, as "impossible"."""
_CODE = re.compile(r"(`+)[^`]+\1")
"""Names in code, such as `None`."""


def changes_polarity(source: str, output: str, source_language: str, target_language: str) -> bool:
    """Whether exactly one of two texts has a negation, or the output has fewer than its source, and the other has no
    word that could stand for it, or one says "must not" and the other "need not", or the output lacks an "unless".
    False for languages without a table."""
    one, other = LANGUAGES.get(source_language), LANGUAGES.get(target_language)
    if one is None or other is None:
        return False
    source, output = source.lower(), output.lower()
    if _loses_exception(source, output, source_language, target_language):
        return True
    if not (_negates(source, one) or _negates(output, other)):
        return False  # most texts
    source, output = one.tags.sub(" ", _CODE.sub("", source)), other.tags.sub(" ", _CODE.sub("", output))
    in_source, in_output = one.negation.search(source), other.negation.search(output)
    if in_source and in_output:
        return (
            _is_other_modal(source, output, one, other)
            or _is_other_modal(output, source, other, one)
            or _loses_one(source, output, one, other)
            or _loses_prefix(source, output, source_language, other)
        )
    if in_source:
        return not other.hints.search(output)
    return bool(in_output) and not one.hints.search(source)


def count_negations(text: str, language: str) -> int:
    """The number of negations of a lower-cased text in a language with a table, if it has several; else 0 or 1."""
    return _count(text, LANGUAGES[language])


def _loses_exception(source: str, output: str, source_language: str, target_language: str) -> bool:
    """Whether a lower-cased source has a condition such as "unless" for which its translation has no word."""
    word = _UNLESS[source_language]
    return word in source and not _EXCEPTIONS[target_language].search(output)


def _negates(text: str, language: Polarity) -> bool:
    """Whether a text has a word that negates. To look for its parts first takes a tenth of the time."""
    may = not language.parts or any(map(text.__contains__, language.parts))
    return may and language.negation.search(text) is not None


def _loses_one(source: str, output: str, one: Polarity, other: Polarity) -> bool:
    """Whether an output, which has a negation, has fewer than its source, and no word that could stand for one. One
    more is not compared: "no water or food" may be "kein Wasser und kein Essen"."""
    count = _count(source, one)
    if count < 2 or count <= _count(output, other):
        return False
    return not other.hints.search(other.negation.sub(" ", output))


def _loses_prefix(source: str, output: str, source_language: str, other: Polarity) -> bool:
    """Whether an output, which has a negation, has no second one, nor a word that could stand for it, where the source
    says "not un-": "not important" for "not unimportant"."""
    return (
        _NOT_UN[source_language].search(source) is not None
        and len(other.negation.findall(output)) == 1
        and not other.hints.search(other.negation.sub(" ", output))
        and not _IN.search(output)
    )


def _count(text: str, language: Polarity) -> int:
    """The number of negations of a lower-cased text if it has several; else 0 or 1."""
    return max(len(each.findall(text)) if sum(map(text.count, parts)) > 1 else 0 for parts, each in language.counted)


def _is_other_modal(text: str, translation: str, one: Polarity, other: Polarity) -> bool:
    """Whether `text` says "must not" and its translation only "need not", or this more often."""
    if other.forbidden.search(translation) or not one.forbidden.search(text):
        return False
    return len(other.unneeded.findall(translation)) > len(one.unneeded.findall(text))
