"""Forms of address, compared with labels that were given by hand."""

import pytest

from limelight.text.formality import form_of_address

GERMAN = {
    "formal": (
        "Können Sie mir helfen?",
        "Kommen Sie bitte herein.",
        "Ich danke Ihnen für Ihre Geduld.",
        "Wir haben Ihren Brief erhalten. Bitte warten Sie.",
        "„Haben Sie Zeit?“, fragte der Arzt.",
    ),
    "informal": (
        "Hast du Zeit?",
        "Das ist dein Buch.",
        "Ich gebe dir deinen Schlüssel.",
        "Kinder, wo sind eure Jacken?",
        "Du bist eingeladen!",
    ),
    "": (
        "Sie ist müde.",
        "Sie haben gewonnen, sagte der Lehrer.",
        "Ihr Hund bellt.",
        "Ich habe sie gesehen und ihnen geholfen.",
        "Es regnet. Sie bleibt zu Hause.",
        "Sagen Sie ihm, dass du kommst.",
        "Der Dirigent kam zu spät.",
    ),
}
FRENCH = {
    "formal": (
        "Pouvez-vous m'aider ?",
        "Votre chambre est prête.",
        "Où sont vos clés ?",
        "Venez demain matin.",
        "C'est à vous de décider.",
    ),
    "informal": (
        "Tu viens demain ?",
        "Je t'aime.",
        "Où est ta sœur ?",
        "Je te vois avec tes amis.",
        "Assieds-toi.",
        "As-tu faim ?",
    ),
    "": (
        "Il pleut.",
        "Je n'aime pas le ton de sa lettre.",
        "Y a-t-il du pain ?",
        "Tu sais, vous avez raison.",
        "Chez moi, il fait froid.",
        "Vous deux, écoutez !",
    ),
}


@pytest.mark.parametrize(("language", "labeled"), [("de", GERMAN), ("fr", FRENCH), ("de-AT", GERMAN)])
def test_the_rule_agrees_with_labels_by_hand(language: str, labeled: dict[str, tuple[str, ...]]) -> None:
    wrong = [
        (text, label, form_of_address(text, language))
        for label, texts in labeled.items()
        for text in texts
        if form_of_address(text, language) != label
    ]
    assert not wrong


def test_the_source_decides_at_the_beginning_of_a_german_sentence() -> None:
    assert form_of_address("Sie sind müde.", "de", "You are tired.") == "formal"
    assert form_of_address("Sie sind müde.", "de", "They are tired.") == ""
    assert form_of_address("Ihr Hund bellt.", "de", "Your dog is barking.") == "formal"


def test_other_languages_have_no_label() -> None:
    assert form_of_address("¿Puede usted ayudarme?", "es") == ""
    assert form_of_address("Can you help me? Sie du", "") == ""
