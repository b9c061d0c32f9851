"""Negations that a translation lost or added, and "must not" that became "need not"."""

import pytest

from limelight.text import polarity
from limelight.text.polarity import LANGUAGES, changes_polarity

CHANGED = [
    ("en", "Do not open the door.", "de", "Öffne die Tür."),
    ("en", "Open the door.", "de", "Öffne die Tür nicht."),
    ("en", "She isn't ill.", "fr", "Elle est malade."),
    ("en", "Nobody knows her.", "de", "Man kennt sie."),
    ("de", "Ich sehe keinen Hund.", "en", "I see a dog."),
    ("fr", "Il n'a jamais mangé.", "en", "He has eaten."),
    ("fr", "Le chien est petit.", "en", "The dog is not small."),
    ("en", "You must not drink this.", "de", "Du musst das nicht trinken."),
    (
        "fr",
        "Tu n'es pas obligé de venir, mais tu ne dois pas sortir.",
        "en",
        "You don't have to come, but you don't have to go.",
    ),
    ("en", "You need not come, but you must not go.", "de", "Du musst nicht kommen, und du musst nicht gehen."),
    ("en", "Do not leave unless I tell you.", "de", "Geh nicht, wenn ich es dir sage."),
    ("de", "Geh nicht, es sei denn, ich rufe dich.", "en", "Don't go, I'll call you."),
    ("fr", "Ne partez pas à moins que je vous appelle.", "en", "Don't leave when I call you."),
    ("en", "You mustn't drink this.", "fr", "Tu n'as pas besoin de boire ça."),
    ("de", "Du musst nicht kommen.", "en", "You must not come."),
    ("en", "You don't have to come.", "de", "Du darfst nicht kommen."),
    ("en", "You may not enter.", "de", "Sie müssen nicht eintreten."),
    ("en", "You need not come.", "de", "Ihr dürft nicht kommen."),
    ("en", "You don't have to come.", "fr", "Vous ne devez pas venir."),
    ("fr", "Vous ne devez pas ouvrir.", "de", "Sie müssen nicht öffnen."),
    ("fr", "Tu ne dois surtout pas fumer.", "de", "Du musst nicht rauchen."),
    ("fr", "Les enfants ne doivent jamais jouer ici.", "de", "Kinder müssen hier nicht spielen."),
    ("fr", "Il ne faut pas toucher ce bouton.", "en", "You don't have to touch this button."),
    ("de", "Du musst mir nicht helfen.", "fr", "Tu ne dois pas m'aider."),
    ("en", "He did not come and did not call.", "de", "Er kam nicht und hat angerufen."),
    ("en", "He did not come and did not call.", "fr", "Il n'est pas venu et a appelé."),
    (
        "de",
        "Er hat kein Auto und keine Wohnung, aber er klagt nicht.",
        "en",
        "He has no car and no flat, but he complains.",
    ),
    ("fr", "Ne fermez pas la porte et n'ouvrez pas la fenêtre.", "de", "Öffnen Sie die Fenster und die Tür nicht."),
    ("fr", "On ne demande pas et on n'attend pas.", "en", "We ask and do not wait."),
    ("fr", "Je demande pas.", "en", "I ask."),
    ("en", "Never smoke here without a window.", "fr", "Ne fumez jamais ici avec une fenêtre."),
]
CHANGED += [
    ("de", "Das ist nicht unwichtig.", "en", "This isn't important."),
    ("en", "It is not very unlikely.", "de", "Das ist nicht sehr wahrscheinlich."),
    ("fr", "Ce n'est pas inutile.", "en", "It isn't useful."),
]
KEPT = [
    ("de", "Das ist nicht unwichtig.", "en", "This isn't unimportant."),
    ("de", "Das ist nicht unmöglich.", "en", "It isn't impossible."),
    ("en", "It is not unusual.", "fr", "Ce n'est pas rare."),
    ("en", "Do not open the door.", "de", "Öffne die Tür nicht."),
    ("en", "It's nice, isn't it?", "de", "Es ist schön, oder?"),
    ("en", "Do not leave unless I tell you.", "de", "Geh nicht, wenn ich es dir nicht sage."),
    ("en", "You need not come, but you must not go.", "de", "Du musst nicht kommen, aber du darfst nicht gehen."),
    ("de", "Geh nicht, es sei denn, ich rufe dich.", "fr", "Ne pars pas, sauf si je t'appelle."),
    ("en", "It's nice.", "fr", "C'est joli, n'est-ce pas ?"),
    ("en", "He is unhappy.", "de", "Er ist nicht froh."),
    ("en", "I don't know.", "fr", "Je l'ignore."),
    ("fr", "Je ne mange que du pain.", "en", "I eat bread."),
    ("fr", "Il marche pas à pas.", "en", "He walks step by step, not faster."),
    ("en", "You must not come.", "de", "Du darfst nicht kommen."),
    ("en", "You must not come.", "fr", "Vous ne devez pas venir."),
    ("en", "You do not have to come.", "de", "Du musst nicht kommen."),
    ("en", "It may not be true.", "de", "Es muss nicht stimmen."),
    ("en", "You may not come.", "fr", "Vous ne devez pas venir."),
    ("fr", "Vous ne devez pas venir.", "de", "Sie dürfen nicht kommen."),
    ("fr", "Tu ne dois pas venir.", "en", "You must not come."),
    ("fr", "Vous ne devriez pas venir.", "de", "Sie sollten nicht kommen müssen."),
    ("fr", "Il ne faut pas vous faire de souci.", "en", "You don't have to worry."),
    ("en", "It returns `None`.", "de", "Es gibt `None` zurück."),
    ("en", "NOTHING HAPPENED", "de", "NICHTS GESCHAH"),
    ("en", "Another note.", "de", "Eine andere Notiz."),
    ("en", "He did not come and did not call.", "fr", "Il n'est pas venu et n'a pas appelé."),
    ("en", "He has neither a car nor a bicycle.", "de", "Er hat weder Auto noch Rad."),
    ("en", "It is not only cold, it does not stop.", "de", "Es ist nicht nur kalt, es hört nicht auf."),
    ("en", "No matter what happens, I won't come.", "fr", "Quoi qu'il arrive, je ne viendrai pas."),
    ("de", "Wir kommen ohne Radio aus, nicht wahr.", "en", "We can do without a radio, can't we?"),
    ("fr", "Ce n'est ni le moment ni l'endroit.", "en", "This isn't the time or the place."),
    ("fr", "Je sais pas et je veux pas savoir.", "en", "I don't know and don't want to know."),
    ("fr", "Il n'y a personne et il n'y a rien.", "en", "There is nobody, and there is nothing."),
    ("fr", "Personne ne dit jamais rien.", "en", "Nobody ever says anything."),
    ("en", "It is not good and not cheap.", "de", "Es ist unbrauchbar und nicht billig."),
]


@pytest.mark.parametrize(("source_language", "source", "target_language", "output"), CHANGED)
def test_changed_polarity_is_found(source_language: str, source: str, target_language: str, output: str) -> None:
    assert changes_polarity(source, output, source_language, target_language)


@pytest.mark.parametrize(("source_language", "source", "target_language", "output"), KEPT)
def test_the_same_polarity_is_not_reported(
    source_language: str, source: str, target_language: str, output: str
) -> None:
    assert not changes_polarity(source, output, source_language, target_language)


def test_other_languages_are_not_checked() -> None:
    assert not changes_polarity("Do not open it.", "Abre la puerta.", "en", "es")
    assert not changes_polarity("Do not open it.", "Öffne die Tür.", "", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_patterns_match_lower_case(language: str) -> None:
    """Texts are lower-cased before they are compared."""
    assert all(
        pattern.pattern.replace(r"\W", "").replace(r"\S", "").islower()
        for pattern in LANGUAGES[language]
        if not isinstance(pattern, tuple)
    )


def test_each_negation_has_one_of_its_parts() -> None:
    for language, words in {
        "en": "not, cannot, isn't, isn’t, no, none, nobody, no one, nothing, nowhere, never, neither, nor, without",
        "de": "nicht, nichts, nie, niemals, niemandem, nirgends, keinen, ohne, nein, nee, weder, nix",
        "fr": "pas, jamais, rien, aucun, sans, ni, non, ne sait, n'est",
    }.items():
        for word in words.split(", "):
            assert polarity._negates(f"{word} dog", LANGUAGES[language]), word
        assert not polarity._negates("a dog", LANGUAGES[language])


def test_the_abbreviation_of_number_is_no_negation() -> None:
    assert changes_polarity("No. 5 is here", "Kein. 5 ist hier", "en", "de")
    assert not changes_polarity("No. 5 is here", "Nr. 5 ist hier", "en", "de")
