"""Sentences with signs: how many translations lose, repeat or damage one, and of how many of these it is said.

    python -m benchmarks.signs --model RUN --from en --to de [--count 2000] [--seed 1]

Templates and signs are ours, and drawn with a seed. A sign has to be in the translation exactly once, a sign at the
beginning or at the end of a text at that place.
"""

import argparse
import json
import sys
from collections import Counter
from random import Random
from typing import NamedTuple

SIGNS = {
    "ascii": list("&<>{}\\`|~^@#*_=+[]"),
    "latin": list("©®™§¶†‡•·¬¤¦×÷±µ¼½¾"),
    "typography": list("→←↑↓⇒★☆✓✔✗■□▶●◆☐☑∞≠≤≥≈√∑∂€£¥₿№"),
    "emoji": ["😀", "🎉", "🚀", "👍🏽", "❤️", "👩‍👩‍👧", "🇩🇪", "1️⃣", "🎉🎉", "☕", "⚠️", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"],
    "script": ["東", "京都", "日本語", "한국", "Москва", "Ж", "λόγος", "שלום", "مرحبا", "नमस्ते", "ไทย", "ა"],
    "letter": ["Łódź", "Kőszegi", "Çeşme", "Đorđe", "Þórr", "Ştefan", "x̂", "Nguyễn", "Ṣàngó", "Ɓala", "q̃", "Ħamrun"],
    "rare": ["⌘", "⎋", "♞", "♪", "⚙", "☂", "␀", "𝒳", "⟨", "⟩", "⊕", "↯", "℞", "☭", "﷼", "🜁"],
}
TEMPLATES = {
    "en": [
        "{} We open the shop at noon.", "The old book lies on the table {}", "The sign {} is new here.",
        "My sister wrote {} on the wall.", "Press {} and wait for the answer.", "Do you know what {} means?",
        "We saw {} on the map, but we did not go there.", "He sent me {} yesterday, and I was happy.",
        "This is the {} that I told you about.", "The word {} is hard to read.", "I like {} very much.",
        "Nobody had seen {} before the summer.",
    ],
    "de": [
        "{} Wir öffnen den Laden am Mittag.", "Das alte Buch liegt auf dem Tisch {}", "Das Zeichen {} ist hier neu.",
        "Meine Schwester schrieb {} an die Wand.", "Drücke {} und warte auf die Antwort.",
        "Weißt du, was {} bedeutet?", "Wir sahen {} auf der Karte, aber wir gingen nicht hin.",
        "Er hat mir gestern {} geschickt, und ich war froh.", "Das ist {}, von dem ich dir erzählt habe.",
        "Das Wort {} ist schwer zu lesen.", "Ich mag {} sehr.", "Niemand hatte {} vor dem Sommer gesehen.",
    ],
    "fr": [
        "{} Nous ouvrons le magasin à midi.", "Le vieux livre est sur la table {}", "Le signe {} est nouveau ici.",
        "Ma sœur a écrit {} sur le mur.", "Appuyez sur {} et attendez la réponse.", "Sais-tu ce que {} signifie ?",
        "Nous avons vu {} sur la carte, mais nous n'y sommes pas allés.",
        "Il m'a envoyé {} hier, et j'étais content.", "C'est {} dont je t'ai parlé.",
        "Le mot {} est difficile à lire.", "J'aime beaucoup {}.", "Personne n'avait vu {} avant l'été.",
    ],
}  # fmt: skip
WARNINGS = {"sign lost", "unknown script"}


class Given(NamedTuple):
    """A sentence with a sign."""

    kind: str
    sign: str
    text: str


def sentences(language: str, count: int, seed: int) -> list[Given]:
    """Sentences of all kinds and templates in turn; every fourth has two signs of which the second one is counted."""
    draw, found = Random(seed), list[Given]()
    for number in range(count):
        kind = list(SIGNS)[number % len(SIGNS)]
        sign = draw.choice(SIGNS[kind])
        text = draw.choice(TEMPLATES[language]).format(sign)
        if number % 4 == 3:
            sign = draw.choice([each for each in SIGNS[kind] if each not in text])
            text += " " + draw.choice(TEMPLATES[language][2:]).format(sign)
        found.append(Given(kind, sign, text))
    return found


def fault(given: Given, output: str) -> str:
    """What a translation did to the sign; empty if it is right."""
    if "\ufffd" in output:
        return "U+FFFD"
    there, wanted = output.count(given.sign), given.text.count(given.sign)
    if there < wanted:
        return "lost"
    if there > wanted:
        return "repeated"
    if given.text.startswith(given.sign) and not output.startswith(given.sign):
        return "moved"
    return "moved" if given.text.endswith(given.sign) and not output.rstrip(".").endswith(given.sign) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", required=True, help="run or model folder, or the name of a bundled model")
    parser.add_argument("--from", dest="source", required=True, help="language of the sentences")
    parser.add_argument("--to", dest="target", required=True, help="language to translate into")
    parser.add_argument("--count", type=int, default=2000, help="number of sentences")
    parser.add_argument("--seed", type=int, default=1, help="draws other sentences")
    parser.add_argument("--no-guards", action="store_true", help="what the model's search finds, as it is")
    given = parser.parse_args()
    if given.source not in TEMPLATES:
        parser.error(f"--from {given.source}: there are templates for {', '.join(TEMPLATES)}")
    import limelight

    inputs = sentences(given.source, given.count, given.seed)
    outputs = limelight.load(given.model).translate(
        [each.text for each in inputs],
        source_lang=given.source,
        target_lang=given.target,
        guards=not given.no_guards,
    )
    faults, silent, alarms = Counter[str](), Counter[str](), 0
    for each, output in zip(inputs, outputs, strict=True):
        found, is_warned = fault(each, output.text), bool(WARNINGS & set(output.warnings))
        faults[found] += 1
        silent[found] += not is_warned
        alarms += is_warned and not found
        if found:
            state = found + " (warned)" * is_warned
            print(f"{each.kind}: {state}: {each.text!r} -> {output.text!r}", file=sys.stderr)
    named = {name: {"count": faults[name], "silent": silent[name]} for name in sorted(faults) if name}
    print(json.dumps({"sentences": len(inputs), "faults": named, "false warnings": alarms}))


if __name__ == "__main__":
    main()
