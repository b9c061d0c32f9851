"""Numbers in words that a translation has lost."""

import pytest

from limelight.text.numbers import lost_number_words


@pytest.mark.parametrize(
    ("source", "output", "languages", "lost"),
    [
        ("twenty-one people", "zwanzig Menschen", ("en", "de"), (21,)),
        ("twenty-one people", "einundzwanzig Menschen", ("en", "de"), ()),
        ("twenty-one people", "21 personnes", ("en", "fr"), ()),
        ("two thousand and five dogs", "zweitausend Hunde", ("en", "de"), (2005,)),
        ("two thousand and five dogs", "2.005 Hunde", ("en", "de"), ()),
        ("soixante-dix chats", "sixty cats", ("fr", "en"), (70,)),
        ("quatre-vingt-dix-sept ans", "97 years", ("fr", "en"), ()),
        ("the nineties", "die 90er", ("en", "de"), ()),
        ("drei Hunde", "two dogs", ("de", "en"), (3,)),
        ("drei Hunde", "the third dog", ("de", "en"), ()),
        ("at half past five", "um halb fünf", ("en", "de"), (5,)),
        ("at half past five", "um halb sechs", ("en", "de"), ()),
        ("um halb drei", "at 2:30", ("de", "en"), ()),
        ("um Viertel vor neun", "avant neuf heures", ("de", "fr"), (45,)),
        ("à neuf heures moins le quart", "um neun Uhr dreißig", ("fr", "de"), (45,)),
        ("à neuf heures et quart", "at nine o'clock", ("fr", "en"), (15,)),
        ("at a quarter past nine", "um Viertel nach neun", ("en", "de"), ()),
        ("at a quarter to nine", "à 8 h 45", ("en", "fr"), ()),
        ("at a quarter past nine", "um Viertel nach zehn", ("en", "de"), (9,)),
        ("at a quarter past nine", "um neun Uhr fünfzehn", ("en", "de"), ()),
        ("a quarter of the town", "ein Teil der Stadt", ("en", "de"), ()),
        ("um halb acht", "à huit heures", ("de", "fr"), (7,)),
        ("um halb acht", "à moitié de huit ans", ("de", "fr"), (7,)),
        ("um halb acht", "à 19 h 30", ("de", "fr"), ()),
        ("um halb acht", "à sept heures et demie", ("de", "fr"), ()),
        ("um halb acht", "à sept heures trente", ("de", "fr"), ()),
        ("um halb acht", "at seven thirty", ("de", "en"), ()),
        ("at half past seven", "um sieben Uhr dreißig", ("en", "de"), ()),
        ("at half past seven", "um sieben", ("en", "de"), (7,)),
        ("pendant deux heures et demie", "for two and a half hours", ("fr", "en"), ()),
        ("halb ein Mensch, halb ein Tier", "half human, half animal", ("de", "en"), ()),
        ("à cinq heures et demie", "at half past six", ("fr", "en"), (5,)),
        ("a hundred times, a second one", "oft, noch einer", ("en", "de"), ()),
        ("un chapeau neuf", "a new hat", ("fr", "en"), ()),
        ("ein paar Tage", "a few days", ("de", "en"), ()),
        ("twenty-one people", "veinte personas", ("en", "es"), ()),
        ("une vingtaine de livres", "about twenty books", ("fr", "en"), ()),
        ("a twenty-year-old", "ein 20-Jähriger", ("en", "de"), ()),
        ("a dozen eggs, fifteen apples", "zwölf Eier, fünfzehn Äpfel", ("en", "de"), ()),
        ("half a dozen of fifteen", "ein halbes Dutzend von fünfzehn", ("en", "de"), ()),
        ("thirteen, fourteen", "13, 14", ("en", "de"), ()),
        ("thirteen, fourteen", "dreizehn, fünfzehn", ("en", "de"), (14,)),
        ("born in nineteen ninety-eight", "1998 geboren", ("en", "de"), ()),
        ("im siebzehnten Jahrhundert", "in the 17th century", ("de", "en"), ()),
        ("in thirty minutes", "in einer halben Stunde", ("en", "de"), ()),
        ("in fifteen minutes", "dans un quart d'heure", ("en", "fr"), ()),
        ("in thirty minutes", "in einer Stunde", ("en", "de"), (30,)),
        ("a three-room flat", "eine Dreizimmerwohnung", ("en", "de"), ()),
        ("three dogs", "3 Hunde", ("en", "de"), ()),
        ("dreieinhalb", "3.5", ("de", "en"), ()),
        ("at two-thirty", "um halb drei", ("en", "de"), ()),
        ("at two-thirty", "um halb zwei", ("en", "de"), (30,)),
        ("at ten thirty", "à 10 h 30", ("en", "fr"), ()),
    ],
)
def test_what_is_neither_in_words_nor_in_digits_is_lost(
    source: str, output: str, languages: tuple[str, str], lost: tuple[int, ...]
) -> None:
    assert lost_number_words(source, output, languages) == lost
