"""What a person is shown of their text before anything is made of it: a pair with its languages, what is strange.

Text on which training cannot succeed is refused.
"""

from collections.abc import Callable
from pathlib import Path

from limelight.config import Corpus, RunConfig, direction_of, known_languages
from limelight.errors import UserError
from limelight.preparation.pairs import cleaned, silently
from limelight.preparation.side_check import MAX_WRONG, SideCheck, check_sides
from limelight.preparation.side_scores import draw_sample
from limelight.storage.layout import CONFIG
from limelight.text.clean import CleanReport
from limelight.text.doubts import doubts
from limelight.text.languages import normal_code
from limelight.text.readers import read_pairs

_SHOWN = 70
"""Characters of each side."""


def first_look(config: RunConfig, run: Path, say: Callable[[str], None]) -> None:
    """Say the first pair that is kept of each corpus, and what is strange about training and validation text.

    A resumed run has reported it before. Raises `UserError` for a file that cannot be read at all, and for one that is
    wrong for the most part, unless `data.on_doubt` is `warn`.
    """
    if (run / CONFIG).exists():
        return
    for corpus in config.data.train:
        first = next(cleaned(config.data, [corpus], CleanReport(), silently), None)
        if first is not None:
            say(f"{first.place}: {corpus.source}: {_short(first.source)} -> {corpus.target}: {_short(first.target)}")
    translates = config.learns == "pairs"
    checks: list[tuple[Corpus, SideCheck]] = []
    for corpus in (*config.data.train, *config.data.valid):
        for line in doubts(corpus.files, *known_languages(corpus), languages=not translates):
            say(f"warning: {line}")
        if translates:
            check = _checked(config, corpus)
            checks.append((corpus, check))
            if check.measured and corpus in config.data.train:
                say(check.measured)
            for finding in check.findings:
                say(f"warning: {finding.text}")
    for warning in _contradictions(checks):
        say(f"warning: {warning}")


def _checked(config: RunConfig, corpus: Corpus) -> SideCheck:
    """What is wrong with the sides of a corpus. Raises `UserError` if most of it is, and that shall stop a run."""
    languages = known_languages(corpus)
    pairs = read_pairs(corpus.files, *languages, states=config.data.states, on_bad_line=silently)
    check = check_sides(draw_sample(pairs), " + ".join(corpus.files), *languages)
    if check.wrong > MAX_WRONG and config.data.on_doubt == "stop":
        amount = f"{100 * check.wrong:.0f} % of the pairs" if check.wrong < 1 else "all of it"
        raise UserError(
            "\n".join(finding.text for finding in check.findings)
            + f"\nThat is {amount}: correct the text. To train on it all the same, give --set data.on_doubt=warn"
        )
    return check


def _contradictions(checks: list[tuple[Corpus, SideCheck]]) -> list[str]:
    """A line for each corpus whose languages are those of an earlier one of the same direction, the other way round."""
    found = []
    for number, (corpus, check) in enumerate(checks):
        here = tuple(map(normal_code, check.languages))
        for earlier, known in checks[:number]:
            there = tuple(map(normal_code, known.languages))
            if direction_of(corpus) == direction_of(earlier) and all(here) and here != there == here[::-1]:
                found.append(
                    f"{' + '.join(earlier.files)} looks like {' -> '.join(there)}, and {' + '.join(corpus.files)} like "
                    f"{' -> '.join(here)}: are the sides of one of them swapped?"
                )
                break
    return found


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
