"""Codes of a translation that are spelled otherwise than in its source."""

import pytest

from limelight.text.spelling import lost_letters, misspelled, put_back_spellings


@pytest.mark.parametrize(
    ("source", "output", "code", "found"),
    [
        ("We drink H2O.", "Wir trinken h2O.", "H2O", "h2O"),
        ("He has COVID-19 today", "Er hat heute covid-19", "COVID-19", "covid-19"),
        ("the price per kWh", "der Preis pro kwh", "kWh", "kwh"),
        ("the price per kWh", "der Preis per KWh", "kWh", "KWh"),
        ("5 mV are few", "5 MV sind wenig", "mV", "MV"),
        ("3 MV are many", "3 mV sind viel", "MV", "mV"),
        ("a file of 3 MB", "eine Datei von 3 Mb", "MB", "Mb"),
        ("the pH here", "der PH hier", "pH", "PH"),
        ("my iPhone", "mein IPhone", "iPhone", "IPhone"),
        ("5G and LTE", "5g und LTE", "5G", "5g"),
        ("an A4 page", "eine Seite in a4", "A4", "a4"),
        ("an mp3 file", "eine MP3-Datei", "mp3", "MP3"),
        ("the PDF file", "le fichier pdf", "PDF", "pdf"),
        ("two DVDs", "zwei DVDS", "DVDs", "DVDS"),
    ],
)
def test_a_code_in_another_case_is_found_and_put_back(source: str, output: str, code: str, found: str) -> None:
    assert misspelled(source, output) == [(code, found)]
    repaired = put_back_spellings(source, output)
    assert repaired == output.replace(found, code)
    assert misspelled(source, repaired) == []


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("We drink H2O.", "Wir trinken H2O."),
        ("mV is a unit.", "MV ist eine Einheit."),  # it begins the sentence
        ("Here. x2 is 4", "Hier. X2 ist 4"),
        ("See: iPad", "Voir : IPad"),
        ("THE H2O IS COLD", "das h2o ist kalt"),
        ("NATO and UFOs", "Die Nato und Ufos"),
        ("COVID-19", "Covid-19"),
        ("in Base64 or base64", "in base64 oder base64"),
        ("a field2", "ein Feld2"),
        ("5 mL and 3 kB", "5 ml und 3 KB"),
        ("at 5 AM or 6 PM, OK", "um 5 Uhr am Montag, ok"),
        ("Die WHO hilft", "The World Health Organization helps all who ask"),
        ("Das US-Gesetz", "The law of America for us"),
        ("the USA and the EU", "les États-Unis et l'UE"),
        ("A T-shirt by e-mail", "Ein t-Shirt per E-Mail"),
        ("This is REALLY GOOD", "C'est really bon"),
        ("the 20th and 3 TVs", "der 20. und 3 Fernseher"),
        ("", ""),
    ],
)
def test_what_languages_write_in_either_case_is_not_reported(source: str, output: str) -> None:
    assert misspelled(source, output) == []
    assert put_back_spellings(source, output) == output


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("We have COVID-19 here", "Wir haben KOVID-19 hier"),
        ("We have COVID-19 here", "Wir haben Kovid-19 hier"),
        ("Use LaTeX", "Nimm LTeX"),
        ("the NATO", "die NASO"),
        ("The part VQND is here", "La partie VQD est ici"),
        ("Das Wort CKKIBDEH gilt", "The word CKIBDEH is right"),
        ("an IPv6 address", "eine IPvv6-Adresse"),
    ],
)
def test_a_code_with_another_letter_is_found_and_left(source: str, output: str) -> None:
    assert len(misspelled(source, output)) == 1
    assert put_back_spellings(source, output) == output


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("AutoText here", "AutoTexte ici"),
        ("two DVDs", "deux DVD"),
        ("Field2 is it", "Feld2 ist es"),
        ("the NATO", "l'OTAN"),
        ("A4A4 and A5A4", "A4A4 und A6A4"),  # a number: `compare_numbers`
    ],
)
def test_a_code_that_can_be_translated_is_not_reported(source: str, output: str) -> None:
    assert misspelled(source, output) == []


def test_what_may_be_another_word_is_reported_and_left() -> None:
    assert misspelled("5 mV and 3 MV", "5 mV und 3 mV") == [("MV", "mV")]
    assert put_back_spellings("5 mV and 3 MV", "5 mV und 3 mV") == "5 mV und 3 mV"
    assert put_back_spellings("the CAN bus", "der can, can") == "der can, can"
    assert put_back_spellings("an mV_x", "ein MV_x und MVa") == "ein mV_x und MVa"


@pytest.mark.parametrize(
    ("source", "output", "languages", "lost"),
    [
        ("Vitamin C is good.", "Vitamin ist gut.", ("en", "de"), ("C",)),
        ("Vitamin C is good.", "Vitamin-C ist gut.", ("en", "de"), ()),
        ("King George V died.", "King George starb.", ("en", "de"), ("V",)),
        ("King George V died.", "Georg der Fünfte starb.", ("en", "de"), ()),
        ("König Georg V. starb.", "King George died.", ("de", "en"), ("V",)),
        ("World War I began in 1914.", "Der Weltkrieg begann ich in 1914.", ("en", "de"), ("I",)),
        ("World War I began in 1914.", "Der Erste Weltkrieg begann 1914.", ("en", "de"), ()),
        ("King Charles I was tall.", "Le roi Charles Ier était grand.", ("en", "fr"), ()),
        ("King Charles I was tall.", "Le roi Charles, je suis grand.", ("en", "fr"), ("I",)),
        ("Karl I. wurde gekrönt.", "Carl J'ai été aligné.", ("de", "fr"), ("I",)),
        ("Take vitamin A.", "Nimm Vitamine.", ("en", "de"), ("A",)),
        ("La vitamine A est bonne.", "The vitamin is good.", ("fr", "en"), ("A",)),
        ("Yesterday I saw Tom and I. Should I?", "Gestern sah er Tom.", ("en", "de"), ()),
        ("Build A House", "Ein Haus bauen", ("en", "de"), ()),
        ("B is here; the T-shirt of Mr. X's, U.S. C&A, in C = 5", "da", ("en", "de"), ()),
        ("un K.-o. en C", "a knockout", ("fr", "en"), ()),
        ("VITAMIN C", "VITAMINE", ("en", "de"), ()),
    ],
)
def test_a_letter_that_names_something_is_kept(
    source: str, output: str, languages: tuple[str, str], lost: tuple[str, ...]
) -> None:
    assert lost_letters(source, output, languages) == lost


def test_letters_of_other_languages_are_not_compared() -> None:
    assert not lost_letters("la vitamina C", "Vitamin", ("es", "de"))
