"""Units next to numbers."""

import pytest

from limelight.text.measures import lost_units, other_units, units_of


def test_units_are_found_next_to_numbers() -> None:
    assert units_of("0.5 mg, 5kg, 90 km/h, 20 °C, 5%, $3 and 3 GB") == ["mg", "kg", "km/h", "°C", "%", "$", "GB"]
    assert units_of("mg and 5 mgx, l'eau, in the 80s, A4") == []


@pytest.mark.parametrize(
    ("source", "output", "language", "lost"),
    [
        ("Take 0.5 mg of it", "Nimm 0,5 davon", "de", ("mg",)),
        ("Take 0.5 mg of it", "Nimm 0,5 Mg davon", "de", ("mg",)),
        ("Take 0.5 mg of it", "Nimm 0,5 mg davon", "de", ()),
        ("Take 0.5 mg of it", "Nimm ein halbes Milligramm davon", "de", ()),
        ("5 kg and 10 kg", "5 und 10 kg", "de", ()),
        ("50% off", "50 Prozent weniger", "de", ()),
        ("50% off", "moins 50 pour cent", "fr", ()),
        ("50% off", "50 weniger", "de", ("%",)),
        ("19 v. H. davon", "19 of it", "en", ("%",)),
        ("19 v. H. davon", "19% of it", "en", ()),
        ("50¢ off", "50 weniger", "de", ("¢",)),
        ("50¢ off", "50 Cent weniger", "de", ()),
        ("Das sind 3,-- €", "That is 3", "en", ("€",)),
        ("Das sind 3,- Euro", "That is 3", "en", ("€",)),
        ("Das sind 100,- DM", "That is 100", "en", ("DM",)),
        ("Das sind 100,- DM", "That is 100 marks", "en", ()),
        ("It is 20° here", "Es ist hier 20", "de", ("°",)),
        ("It is 20° here", "Es ist hier 20 Grad", "de", ()),
        ("a 45° angle", "un angle de 45 degrés", "fr", ()),
        ("50% off", "fünfzig% weniger", "de", ()),
        ("5 m", "fünfm", "de", ("m",)),
        ("$3.50", "3,50 Dollar", "de", ()),
        ("3 GB", "3 Go", "fr", ()),
        ("90 km/h", "90 Stundenkilometer", "de", ()),
        ("5 mg", "5 g", "de", ("mg",)),
        ("20 °C", "20 degrés", "fr", ()),
        ("5 kg", "5 kilogramos", "es", ()),
        ("12.5k followers", "12,5karten", "de", ("k",)),
        ("12.5k followers", "12.500 Anhänger, 12,5 Tausend", "de", ()),
        ("5 ft of it", "5 Fuß davon", "de", ()),
        ("60 mph", "60 Meilen in der Stunde", "de", ()),
        ("5 feet high", "5 hoch", "de", ("ft",)),
        ("2 dollars and 3 cents", "2 Dollar und 3", "de", ("ct",)),
        ("2 dollars and 3 cents", "2 dollars et 3 centimes", "fr", ()),
        ("1½ tsp of salt", "1½ Salz", "de", ("tsp",)),
        ("30 minutes", "30 Minuten", "de", ()),
        ("5,000 mAh", "5.000 mich", "de", ("mAh",)),
        ("900 rpm", "900 U/min", "de", ()),
        ("3,7 Go", "3,7 gehen", "de", ("Go",)),
        ("3,7 Go", "3.7 GB", "en", ()),
        ("85 mètres carrés", "85 Meter", "de", ("m²",)),
        ("85 mètres carrés", "85 Quadratmeter", "de", ()),
        ("85 mètres", "85 Meter", "de", ()),
        ("40 pounds and 50 pence", "40 Pfund und 50", "de", ("pence",)),
        ("2,3 millions d'euros", "2.3 million", "en", ("€",)),
        ("2,3 millions d'euros", "2.3 million euros", "en", ()),
        ("12 Milliarden Euro", "12 milliards", "fr", ("€",)),
        ("4.5 million euros", "4,5 Millionen Sheuros", "de", ("€",)),
        ("8 st 4 lb", "8 4 lb", "fr", ("st",)),
        ("8 st 4 lb", "8 st 4 lb", "fr", ()),
        ("the 1 st of May, 5 in all", "am 1. Mai, 5 insgesamt", "de", ()),
        ("5 ft 11 in tall", "5 ft 11 en grand", "fr", ("in",)),
        ("5 ft 11 in tall", "5 Fuß 11 Zoll groß", "de", ()),
        ("toutes les 8 heures", "every 8 o'clock", "en", ("hour",)),
        ("toutes les 8 heures", "alle 8.", "de", ("hour",)),
        ("toutes les 8 heures", "alle 8 Stunden", "de", ()),
        ("à 8 heures", "at 8 o'clock", "en", ()),
        ("every 15 days", "alle 15", "de", ("day",)),
        ("20 EUR now and 80 EUR later", "jetzt 20 EUR und später 80", "de", ("EUR",)),
        ("from 250 EUR to 300 EUR", "von 250 bis 300 EUR", "de", ()),
        ("68 Liter", "68 literals", "en", ("l",)),
        ("5 l of water", "5 de l'eau", "fr", ("l",)),
        ("5 m", "5 something", "en", ("m",)),
        ("a 10 minute break", "eine zehnminütige Pause", "de", ()),
        ("for 30 hours", "dreißigstündig", "de", ()),
        ("in 15 minutes", "in einer Viertelstunde", "de", ()),
        ("20 bucks", "20 Dollar", "de", ()),
        ("five miles", "fünf Kilometer", "de", ("mi",)),
        ("fünf Kilometer", "cinq kilos", "fr", ("km",)),
        ("three gallons of it", "drei Wasser", "de", ("gal",)),
        ("fünfzig Prozent", "fifty of it", "en", ("%",)),
        ("five miles, 93 million miles", "fünf, 93 Millionen Meilen", "de", ()),
        ("trois cents dollars", "300 dollars", "en", ()),
        ("deux mille livres", "2,000 books", "en", ()),
        ("every inch a king", "ganz ein König", "de", ()),
        ("25 qm groß", "25 big", "en", ("qm",)),
        ("25 qm groß", "25 square meters", "en", ()),
        ("0,8 Promille", "0.8 of it", "en", ("‰",)),
        ("5 gallons", "5 Wasser", "de", ("gal",)),
        ("5 yards", "5 ans", "fr", ("yd",)),
        ("5 hectares", "5 Hektar", "de", ()),
        ("4,5 M€", "4.5 M", "en", ("€",)),
        ("4,5 M€", "€4.5 million", "en", ()),
        ("15 inches", 'ein 15"-Bildschirm', "de", ()),
        ("5 percent", "fünfprozentig", "de", ()),
        ("03:00 hour", "03:00 Uhr", "de", ()),
    ],
)
def test_a_unit_keeps_one_of_its_forms(source: str, output: str, language: str, lost: tuple[str, ...]) -> None:
    assert lost_units(source, output, language) == lost


def test_units_in_words_are_units_too() -> None:
    assert units_of("5 kilometers, 2 Liter, 3 mètres, 20 percent, 7 Gramm, 4 euros, 9 kilos") == [
        "km", "l", "m", "%", "g", "€", "kg",
    ]  # fmt: skip
    assert lost_units("It is 5 kilometers long.", "Es ist 5 Meilen lang.", "de") == ("km",)
    assert lost_units("It is 5 kilometers long.", "Es ist 5 km lang.", "de") == ()
    assert lost_units("20 Prozent der Leute", "20 per cent of the people", "en") == ()
    assert units_of("5 meteors, 3 grammars, 2 literates") == []


@pytest.mark.parametrize(
    ("source", "output", "languages", "others"),
    [
        ("Il a 72 ans.", "He is 72 hours old.", ("fr", "en"), ("hour",)),
        ("Il a 72 ans.", "He is 72 years old.", ("fr", "en"), ()),
        ("Il a 72 ans.", "Er ist um 72 Uhr da.", ("fr", "de"), ("hour",)),
        ("Il a 72 ans.", "He is 72.", ("fr", "en"), ()),
        ("He is 72.", "Il a 72 ans.", ("en", "fr"), ()),
        ("for 72 hours", "pendant 72 ans", ("en", "fr"), ("year",)),
        ("on the 21st", "sur le 21 heures", ("en", "fr"), ("hour",)),
        ("on the 21st", "le 21", ("en", "fr"), ()),
        ("im 10. Stock", "à 10 heures", ("de", "fr"), ("hour",)),
        ("au 10e étage", "at 10 o'clock", ("fr", "en"), ("hour",)),
        ("He finished 2nd.", "Il a fini deux heures.", ("en", "fr"), ("hour",)),
        ("He came 2nd at two o'clock.", "Il est arrivé deuxième à deux heures.", ("en", "fr"), ()),
        ("at 8 on the 21st", "le 21 à 8 heures", ("en", "fr"), ()),
        ("2.3 million inhabitants", "2,3 millions d'euros", ("en", "fr"), ("€",)),
        ("at 8", "à 8 heures", ("en", "fr"), ()),
        ('a 15" screen', "un écran de 15 pouces", ("en", "fr"), ()),
        ("Il dure 1 h 45.", "It lasts 1 hour 45 minutes.", ("fr", "en"), ()),
        ("Il dure 1 h.", "It lasts 45 minutes.", ("fr", "en"), ("min",)),
        ("5 years", "² years", ("en", "en"), ()),
        ("5 people", "5 kg", ("en", "es"), ()),
        ("five people", "fünf Kilo", ("en", "de"), ("kg",)),
    ],
)
def test_a_unit_that_the_source_does_not_have_is_another_one(
    source: str, output: str, languages: tuple[str, str], others: tuple[str, ...]
) -> None:
    assert other_units(source, output, languages) == others
