"""Numbers of a list or a range in the other order."""

import pytest

from limelight.text.number_order import swapped_numbers


@pytest.mark.parametrize(
    ("languages", "source", "output"),
    [
        (("en", "de"), "He has 3 apples and 5 pears.", "Er hat 5 Äpfel und 3 Birnen."),
        (("en", "de"), "three apples and five pears", "fünf Äpfel und drei Birnen"),
        (("en", "de"), "three apples and 5 pears", "5 Äpfel und drei Birnen"),
        (("en", "fr"), "2 men, 3 women and 4 dogs", "2 hommes, 4 femmes et 3 chiens"),
        (("en", "fr"), "$3 for men, and $5 for women", "5 $ pour les hommes et 3 $ pour les femmes"),
        (("en", "fr"), "3% of the men or 4.5% of the women", "4,5 % des hommes ou 3 % des femmes"),
        (("de", "en"), "von 3 bis 5", "from 5 to 3"),
        (("fr", "de"), "de 3 degrés à 5 degrés", "von 5 Grad auf 3 Grad"),
        (("en-GB", "de"), "2 cats and 12 dogs", "12 Katzen und 2 Hunde"),
    ],
)
def test_numbers_in_the_other_order_are_found(languages: tuple[str, str], source: str, output: str) -> None:
    assert swapped_numbers(source, output, languages)


@pytest.mark.parametrize(
    ("languages", "source", "output"),
    [
        (("en", "de"), "He has 3 apples and 5 pears.", "Er hat 3 Äpfel und 5 Birnen."),
        (("en", "de"), "3 apples and 5 pears, 5 men and 3 women", "3 Äpfel und 5 Birnen, 5 Männer und 3 Frauen"),
        (("en", "de"), "3 apples and 3 pears", "3 Äpfel und 3 Birnen"),
        (("en", "de"), "684,330 in 2011", "im Jahr 2011 684.330"),
        (("en", "de"), "It fell to 26 aircraft, from 83.", "Es fiel von 83 Flugzeugen auf 26."),
        (("en", "de"), "18 inches (46 cm)", "46 cm (18 Zoll)"),
        (("en", "fr"), "1 or 0", "0 ou 1"),
        (("en", "fr"), "2D and 3D labels", "étiquettes 3D et 2D"),
        (("en", "fr"), "at 5 pm on May 3", "le 3 mai à 17 h"),
        (("en", "es"), "3 to 5", "5 a 3"),
        (("en", "de"), "3 to 5", ""),
    ],
)
def test_what_languages_order_otherwise_is_not_reported(languages: tuple[str, str], source: str, output: str) -> None:
    assert not swapped_numbers(source, output, languages)
