"""Recognize a text in a language that a model does not know: the class "other" of language detection.

The detector of a model (`text/detection.py`) has seen only the languages of the model. It calls a Spanish text French,
with certainty. Here a text is compared with the common words, the letters and the script of languages that are
widely written. Only clear evidence counts: a text without any common word is never called foreign for its words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from functools import cache
from unicodedata import normalize

from limelight.text.languages import WORD, function_words, normal_code, script_of, scripts_of

THRESHOLD, FEW_WORDS, THRESHOLD_OF_FEW = 4.0, 2, 6.0
"""Minimum log-likelihood ratio of a foreign language to each known language, and that of a text of so few words: the
most common words have about 5, others 3, and a single word may be a name."""
FOREIGN_LETTER = 2.5
"""Evidence of a letter that a language does not use."""
MAX_LETTERS = 3
"""So many letters count at most: names have some."""
UNLISTED, LEAST = 0.0001, 0.002
"""Assumed frequency of a word that is not among the common ones of a language, and minimum of one that is."""
MIN_SHARE = 0.6
"""Minimum share of letters in another script."""

IN_TARGET_LANGUAGE = "already in target language"
"""The warning for a text that comes back unchanged."""

_MORE_WORDS = """
cs: není máme děkuji dobrý den kde proč kdo kdy kolik mám jste jsme můj moje tady tam dnes zítra včera musíme chci
cs: nebo když vás nás velmi všechno prosím ano ahoj také před při podle mezi bez pod soubor nelze může mohu být bude
da: hvor hvorfor hvem hvornår mange tak god dag ikke noget nogle være blive skal kunne ville din vores dette denne
da: disse også efter over under mellem uden meget ja nej hej ingen alle når eller kun bliver kan filen
de: kann wird sind war haben hat nur oder aber wenn mehr noch nach bei bis über unter durch gegen ohne zwischen vor
de: seit während ihre ihr sein seine mein meine dein unser euch uns mir mich dir dich ihm ihn ihnen man was wer wo
de: wann warum wieso welche hier dort jetzt heute morgen gestern immer nie schon wieder sehr gut neue alle alles
de: viele etwas nichts kein keine bitte danke hallo guten tag ja nein datei wurde werden konnte können soll muss
de: müssen möchte beim zum zur vom ins am um dass weil damit so dann da also doch mal ob einen einem einer eines
de: diese dieser dieses diesem diesen jede jeder kommt geht macht gibt haus zeit jahr los sa waren hast hol leg den
de: met pro per min max com la des bin bist seid habe habt hatte hatten du tut tun tat nun ab an aus er es ist wäre
de: hätte viel wenig ganz fast etwa hin her dabei dazu daran darauf damals später bald lange kurz wirklich
de: vielleicht eigentlich einfach gerade zusammen allein selbst jemand niemand jedoch trotzdem deshalb denn sondern
de: weder lass geh komm sieh frau mann kind leute stadt land arbeit fall teil hand name system problem frage seite
de: fehler wert liste text zeile wohl lan ki
en: we they you she her him his its our your my me us them who what when where why how which there here now then
en: than more most some any all no yes if but so very can could will would should may might must do does did done
en: has been were being am into over under about after before between through during without against only also just
en: out up down new good see go come get make made take know think want need like look use day time year people man
en: way first two one please thank thanks hello morning too much many other another each every own same such these
en: those off again still never always file open close set sets value name ve ll re la del via per met came let less
en: care health yesterday today tomorrow tonight mine fare pro con com min max till since ask tell call home house
en: work pm mr mrs dr ok old young long little big great last next left right love help try play run live move hear
en: bring keep begin show seem leave put mean hand high place case week company system program question night point
en: government number part item text page table list type size error user key data add non pre anti automation
en: process order date sin cos len ca co al
es: dónde cuándo cuánto cuánta quién cuál qué está están estoy estamos eres soy somos tengo tiene tienen tenemos hay
es: hace hacer puede puedo quiero quiere mañana hoy ayer gracias buenos buenas días noches hola adiós todo todos
es: toda nada algo muy mucho mucha muchos este esta esto estos ese esa eso aquí allí ahora siempre nunca también
es: porque cuando donde desde hasta sobre entre sin mi tu nos les ni son fue era ser estar ha han mis tus gran casa
es: niño hermano fichero archivo debe
et: ja on ei see et oli ma ta kui ka aga mis kas siin seal nii väga pole olen oled oleme ning või juba veel kus miks
et: palju aitäh tere kõik mida minu sinu meie faili
fi: missä miksi kuka milloin paljon kiitos hyvää huomenta päivää olet olemme ovat oli ollut hänellä minulla sinun
fi: minun meidän teidän tässä siellä täällä nyt tänään huomenna eilen aina ei älä ole voi voin täytyy pitää haluan
fi: kaikki mitään kanssa jälkeen ennen ilman tai sekä tämän tiedostoa hei
fr: sont était être avoir avez avons ont ai as es êtes sommes suis fait faire peut peux pouvez veux veut voudrais
fr: dois doit mon ma mes ton ta tes ses notre nos votre vos leur leurs lui me te moi toi où quand quoi quel quelle
fr: combien comment pourquoi parce si mais ou donc car ni aussi très bien trop peu beaucoup tout tous toute toutes
fr: rien jamais toujours encore déjà ici là maintenant aujourd hui hier demain bonjour merci bonsoir oui non cette
fr: cet ces celui cela ça même comme sans sous entre vers chez après avant depuis pendant à y fichier été sa tu un
fr: que disposais ve eu ait aux belle bel ceux celle celles dont afin ainsi alors autre autres avait aurait serait
fr: sera seront fut dit dire va vas vont aller vient venir voir sait savoir faut fallait falloir pourrait devrait
fr: mis mise pris fois jour jours temps an ans homme femme enfant enfants monde vie gens chose choses maison travail
fr: ville pays cas part main nom système problème question page erreur valeur liste texte ligne per pro com la min
fr: max del mai mal met los ca sin len
hr: je i u na se da za su ne što od ali kako koji koja ili ima nije bio bila sam smo ste gdje zašto tko kada koliko
hr: hvala dobar dan jutro moj tvoj ovaj ova to sve vrlo danas sutra jučer datoteka može
hu: hol miért ki mikor mennyi köszönöm jó reggelt napot vagyok vagy vagyunk vannak volt lesz nincs kell lehet akarok
hu: szeretnék most ma holnap tegnap mindig soha minden semmi nekem neked nagyon sok kevés pedig azt ezt egyik után
hu: előtt nélkül fájl mert hogy
it: dove quando quanto chi quale perché cosa è sono sei siamo siete hanno abbiamo hai fa fare può posso voglio vuole
it: devo dobbiamo domani oggi ieri grazie buongiorno buonasera ciao tutto tutti tutta niente qualcosa molto molta
it: troppo questo questa questi quello quella qui lì adesso ora sempre mai anche dalla dal dei degli delle nella nel
it: nei sul sulla alla al alle agli dai lo gli mio mia tuo suo nostro stato essere avere file mille
nl: waar wanneer hoeveel wie welke waarom wat hebben heb hebt heeft had was waren wordt worden kan kunnen kon wil
nl: willen moet moeten zal zullen gaan gaat ga doe doet doen mijn jouw ons onze jullie zij wij jij u hem haar hun
nl: deze dit daar hier nu vandaag morgen gisteren altijd nooit veel weinig heel erg geen iets niets alles alle goed
nl: dank bedankt goedemorgen goedenavond hallo ja nee tussen zonder onder tegen door tot sinds of want omdat toen
nl: dan bestand
no: hvor hvorfor hvem når mange takk god dag ikke noe noen være bli skal kunne ville din vår dette denne disse også
no: etter over under mellom uten veldig ja nei hei ingen alle eller bare blir kan filen jeg meg deg oss dem
pl: gdzie dlaczego kto kiedy ile dziękuję dzień dobry dobrze jestem jesteś jesteśmy są był była było będzie mam masz
pl: ma mamy mają mój moja moje twój jego jej nasz tego tej tym ten ta te ci tu tam teraz dzisiaj jutro wczoraj
pl: zawsze nigdy bardzo dużo mało wszystko nic coś proszę tak nie może można musi musimy chcę który która które czy
pl: lub albo oraz ale bo gdy jeśli przed po między bez pod nad plik pliku
pt: onde quando quanto quem qual porque está estão estou estamos és sou somos tenho tem têm temos há faz fazer pode
pt: posso quero quer amanhã hoje ontem obrigado obrigada bom boa dia noite olá tudo todos toda nada algo muito muita
pt: muitos este esta isto estes esse essa isso aqui ali agora sempre nunca também desde até sobre entre sem meu
pt: minha teu nos lhe nem são foi era ser estar você vocês eles elas ela não casa menino irmão arquivo ficheiro deve
pt: numa num pelo pela
ro: unde când cât cine care ce sunt ești este suntem sunteți am ai are avem aveți au poate pot vreau vrea trebuie
ro: mâine azi astăzi ieri mulțumesc bună ziua dimineața seara salut tot toți toată nimic ceva foarte mult multă
ro: acest această acesta aceasta aici acolo acum mereu niciodată și sau dar dacă despre între fără meu mea ta
ro: noastră fișierul fișier nu
sk: nie je máme ďakujem dobrý deň kde prečo kto kedy koľko mám ste sme môj moja tu tam dnes zajtra včera musíme
sk: chcem alebo keď vás nás veľmi všetko prosím áno ahoj tiež pred pri podľa medzi bez pod súbor nemožno môže
sl: je in v na se da za so ne kaj od ampak kako ki ali ima ni bil bila sem smo ste kje zakaj kdo kdaj koliko hvala
sl: dober dan jutro moj ta to vse zelo danes jutri včeraj datoteka lahko
sv: var varför vem när hur mycket många tack god morgon dag inte något några vara bli ska skulle kunna kan vill
sv: måste mitt min mina ditt din er vår våra detta denna dessa också efter över under mellan utan väldigt ja nej hej
sv: ingen alla eller bara blir hade är här där nu idag imorgon igår alltid aldrig allt inget filen jag mig dig oss
sv: dem
tr: nerede neden kim zaman nasıl teşekkür ederim günaydın merhaba evet hayır değil var yok bu şu biz siz onlar benim
tr: senin bizim sizin bugün yarın dün şimdi her hiç şey çok az büyük küçük iyi kötü olan olarak kadar sonra önce ile
tr: gibi için veya ya mı mi mu mü ne dosya dosyası bir geldi istiyorum gerekiyor
vi: không của và là có được người trong một những với cho này đã đang sẽ tôi bạn anh chị chúng xin chào cảm ơn ở đâu
vi: khi nào tại sao
"""
"""Further common words, forms of everyday speech among them."""

_LETTERS = """
cs: áčďéěíňóřšťúůýž
da: æøåé
de: äöüß
en:
es: áéíñóúü¿¡
et: äöõüšž
fi: äöå
fr: àâæçéèêëîïôœùûüÿ
hr: čćđšž
hu: áéíóöőúüű
it: àèéìíòóùú
nl: éëïóèöü
no: æøåéò
pl: ąćęłńóśźż
pt: áâãàçéêíóôõúü
ro: ăâîșțşţ
sk: áäčďéíĺľňóôŕšťúýž
sl: čšž
sv: åäöé
tr: çğıöşüâîû
vi: àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ
"""
"""Letters and marks beside those of English."""

_BY_SCRIPT = {
    "cyrillic": "ru", "greek": "el", "han": "zh", "kana": "ja", "hangul": "ko", "arabic": "ar", "hebrew": "he",
    "devanagari": "hi", "thai": "th", "georgian": "ka", "armenian": "hy", "bengali": "bn", "tamil": "ta",
}  # fmt: skip
"""The most widely written language of a script."""


def foreign_language(text: str, known: Collection[str]) -> str:
    """The code of the language in which a text probably is, if that is none of `known`; else, or if uncertain, "".

    >>> foreign_language("¿Dónde está la estación?", ["en", "de", "fr"])
    'es'
    """
    return foreign_evidence(text, known)[0]


def foreign_evidence(text: str, known: Collection[str]) -> tuple[str, float]:
    """The same, with the probability that the text is in that language rather than in a known one; 0.0 without one.
    Without known languages, as in a model whose languages have no names, nothing is foreign."""
    own = {normal_code(each) for each in known}
    if not own:
        return "", 0.0
    if other := _other_script(text, own):
        return other, 1.0
    alphabets = _alphabets()
    if not own < alphabets.keys():
        return "", 0.0
    plain = normalize("NFC", text).lower()
    words = WORD.findall(plain)
    scores, common = dict.fromkeys(alphabets, 0.0), _common_words()
    for word in words:
        for code, gain in common.get(word, ()):
            scores[code] += gain
    if special := _special(plain):
        for code, alphabet in alphabets.items():
            scores[code] -= FOREIGN_LETTER * min(MAX_LETTERS, len(special - alphabet))
    ours = max(scores.pop(code) for code in own)
    best = max(scores, key=scores.__getitem__)
    ratio = scores[best] - ours
    needed = THRESHOLD_OF_FEW if len(words) <= FEW_WORDS else THRESHOLD
    return (best, 1 / (1 + math.exp(-ratio))) if ratio >= needed else ("", 0.0)


def _other_script(text: str, own: set[str]) -> str:
    if text.isascii():  # no other script has these letters
        return ""
    counts = Counter(script_of(letter) for letter in text if letter.isalpha())
    used = set().union(*(scripts_of(code) for code in own))
    if not counts or not all(scripts_of(code) for code in own):
        return ""
    if counts["kana"] and not used & {"kana", "han"}:
        counts["kana"] += counts.pop("han", 0)
    script, count = counts.most_common(1)[0]
    return _BY_SCRIPT.get(script, "") if script not in used and count >= MIN_SHARE * counts.total() else ""


def _special(text: str) -> set[str]:
    """The letters and marks of a text in lower case beside those of English."""
    if text.isascii():
        return set()
    found = {letter for letter in text if letter > "\x7f"}
    return {letter for letter in found if letter in "¿¡" or (script_of(letter) == "latin" and letter.isalpha())}


def alphabet_of(language: str) -> frozenset[str] | None:
    """The lower-case letters of a language beside those of English; None for a language without a table."""
    return _alphabets().get(normal_code(language))


@cache
def every_alphabet() -> frozenset[str]:
    """The letters of all tables."""
    return frozenset[str]().union(*_alphabets().values())


@cache
def _alphabets() -> dict[str, frozenset[str]]:
    """The letters of each language beside those of English."""
    return {code: frozenset(letters.strip()) for code, letters in _rows(_LETTERS)}


@cache
def _common_words() -> dict[str, list[tuple[str, float]]]:
    """Word -> the languages in which it is common, each with the logarithm of how common, compared with `UNLISTED`.
    A single letter of English is none: they are too frequent in names, formulas and options."""
    found: dict[str, list[tuple[str, float]]] = {}
    tables = {code: list(function_words().get(code, ())) for code in _alphabets()}
    for code, further in _rows(_MORE_WORDS):
        tables[code] += further.split()
    for code, words in tables.items():
        for rank, word in enumerate(dict.fromkeys(words)):
            if len(word) > 1 or word > "\x7f":
                found.setdefault(word, []).append((code, math.log(max(LEAST, 0.3 / (rank + 8)) / UNLISTED)))
    return found


def _rows(table: str) -> list[tuple[str, str]]:
    """`code: values` of each line."""
    pairs = (line.split(":") for line in table.strip().splitlines())
    return [(code, values) for code, values in pairs]
