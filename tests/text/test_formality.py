"""Forms of address, compared with labels that were given by hand."""

import pytest

from limelight.text.formality import form_of_address

LABELED = {
    "de": {
        "formal": ("Können Sie mir helfen?", "Wir haben Ihren Brief erhalten.", "„Haben Sie Zeit?“, fragte der Arzt."),
        "informal": ("Das ist dein Buch.", "Kinder, wo sind eure Jacken?", "Du bist eingeladen!"),
        "": ("Sie ist müde.", "Es regnet. Ihr Hund bellt.", "Ich habe sie gesehen.", "Sagen Sie ihm, dass du kommst."),
    },
    "fr": {
        "formal": ("Pouvez-vous m'aider ?", "Votre chambre est prête.", "Où sont vos clés ?"),
        "informal": ("Tu viens demain ?", "Où est ta sœur ?", "Assieds-toi."),
        "": ("Il pleut.", "Je n'aime pas le ton de sa lettre.", "Y a-t-il du pain ?", "Tu sais, vous avez raison."),
    },
    "es": {"": ("¿Puede usted ayudarme?",)},
}


@pytest.mark.parametrize("language", LABELED)
def test_the_table_agrees_with_labels_by_hand(language: str) -> None:
    found = [(label, form_of_address(text, language)) for label, texts in LABELED[language].items() for text in texts]
    assert [each for each in found if each[0] != each[1]] == []


def test_the_source_decides_at_the_beginning_of_a_sentence() -> None:
    assert form_of_address("Sie sind müde.", "de-AT", "You are tired.") == "formal"
    assert form_of_address("Sie sind müde.", "de", "They are tired.") == ""
