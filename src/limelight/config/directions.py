"""Translation directions of a model, as far as they are known.

A model of one direction uses no tags: training on pairs of another direction would raise no error but give a bad model,
so such pairs are refused. A model of several directions reads the tag of the target language before each source.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from limelight.config.run import UNNAMED, Corpus, DataConfig, Direction
from limelight.errors import UserError


def known_languages(corpus: Corpus, otherwise: Direction | None = None) -> tuple[str, str]:
    """Source and target language of a corpus, or `otherwise` if the corpus does not name them; empty if
    neither does."""
    (source, target), others = corpus.direction.languages, (otherwise or UNNAMED).languages
    return source or others[0], target or others[1]


def sides_of(corpus: Corpus, otherwise: Direction | None = None) -> tuple[str, str]:
    """What `read_pairs` finds the two sides of a corpus by: its columns, each after `#`, or its languages."""
    if corpus.columns:
        source, target = (f"#{column}" for column in corpus.columns)
        return source, target
    return known_languages(corpus, otherwise)


def directions_of(data: DataConfig) -> tuple[Direction, ...]:
    """All directions of a model, without duplicates: those it is trained on, then those inherited from its parent."""
    return tuple(dict.fromkeys((*trained_directions(data), *(Direction(*names) for names in data.inherited))))


def has_tags(data: DataConfig) -> bool:
    """Whether the model reads a tag of the target language before each source: if it has several directions.

    Training, validation and loading all use this rule.
    """
    return len(directions_of(data)) > 1


def trained_directions(data: DataConfig) -> tuple[Direction, ...]:
    """The directions with training text, in the order of the corpora."""
    directions = [corpus.direction for corpus in data.train]
    if data.both_directions:
        directions += [corpus.direction.reversed for corpus in data.train if not corpus.tag]
    return tuple(dict.fromkeys(directions))


def find_direction(
    directions: Sequence[Direction], source: str = "", target: str = "", pivots: Collection[Direction] = ()
) -> Direction | None:
    """The requested direction; None for a model with a single direction whose languages are not named.

    An empty language matches any. A model of one direction needs neither. If no direction has the target language, one
    of the `pivots` may.

    Raises `UserError` that lists the directions if none or more than one matches.
    """
    known = [direction for direction in directions if any(direction.languages)]
    if not known and len(directions) <= 1 and not (source or target):
        return None
    fitting = fitting_directions(tuple(directions), source, target)
    if target and not fitting:
        fitting = fitting_directions(tuple(pivots), source, target)
    if (source, target) in fitting:  # `en-US` beside `en`
        return Direction(source, target)
    if len(fitting) == 1:
        return fitting[0]
    request = " ".join([f"from {source}"] * bool(source) + [f"to {target}"] * bool(target))
    listed = ", ".join(map(str, known)) or "one whose languages were not named when it was trained"
    if not fitting:
        raise UserError(f"this model does not translate {request}; its directions are: {listed}")
    matches = f"{request} fits {len(fitting)} of them" if request else "say which one"
    raise UserError(
        f"this model translates in several directions: {listed}; {matches}: give --to LANG, and --from LANG if several "
        "have this target (target_lang and source_lang in Python)"
    )


def find_pivots(directions: Sequence[Direction]) -> dict[Direction, str]:
    """Pairs of languages that two directions connect and no direction does, each with the language between them.

    If there are several such languages, it is English, or else the first in the order of the directions.
    """
    named = dict.fromkeys(direction for direction in directions if all(direction.languages))
    starting = defaultdict[str, list[Direction]](list)
    for direction in named:
        starting[direction.source].append(direction)
    pivots: dict[Direction, str] = {}
    for first in named:
        for second in starting[first.target]:
            pair, between = Direction(first.source, second.target), first.target
            if pair in named or same_language(*pair) or fitting_directions(tuple(named), *pair):
                continue
            if pair not in pivots or (same_language(between, "en") and not same_language(pivots[pair], "en")):
                pivots[pair] = between
    return pivots


def legs_of(pair: Direction, pivots: Mapping[Direction, str]) -> tuple[Direction, ...]:
    """The two directions that connect a pair of `pivots`, or the direction itself."""
    between = pivots.get(pair)
    return (pair,) if between is None else (Direction(pair.source, between), Direction(between, pair.target))


@lru_cache(maxsize=1024)
def fitting_directions(directions: tuple[Direction, ...], source: str, target: str) -> tuple[Direction, ...]:
    """The directions that match the requested languages; an empty language matches all, and so does one that was not
    named when the model was trained. Cached because each text of a call asks for the same languages."""
    return tuple(
        direction
        for direction in directions
        if any(direction.languages)
        and all(
            not name or not language or same_language(name, language)
            for name, language in zip((source, target), direction.languages, strict=True)
        )
    )


def check_directions(data: DataConfig) -> None:
    """Raises `UserError` if the directions of a run contradict each other.

    A run of several directions must name the languages of every corpus, and may validate only on its own directions.
    """
    named = {corpus.direction for corpus in data.train if all(corpus.direction.languages)}
    if not data.both_directions and not data.inherited and len(named) <= 1:
        require_one_direction((*data.train, *data.valid))
        return
    kept = Direction(*data.inherited[0]) if data.inherited else Direction("en", "de")
    for corpus in (*data.train, *data.valid):
        if not all(corpus.direction.languages):
            raise UserError(
                f"{corpus}: a model of several directions needs the languages of every corpus; write them "
                f"before the file, for example {kept}={corpus.files[0]}, or give --source and --target"
            )
        if same_language(*corpus.direction):
            raise UserError(f"{corpus}: both sides have the language {corpus.source}; name two languages")
    trained = directions_of(data)
    for corpus in data.valid:
        if corpus.direction not in trained:
            listed = ", ".join(map(str, trained))
            raise UserError(
                f"{corpus}: validation text for {corpus.direction}, which is not a direction of this run: {listed}"
            )


_FORM = re.compile(r"[@_-](formal|informal)$", re.IGNORECASE)


def split_form(language: str) -> tuple[str, str]:
    """A code and the form of address that it names: `de` and `formal` for `de@formal`, as Weblate writes it, and for
    `de-formal`; an empty string for other codes."""
    match = _FORM.search(language)
    return (language[: match.start()], match[1].lower()) if match else (language, "")


SYNONYMS = {"iw": "he", "in": "id", "ji": "yi", "nb": "no", "zt": "zh-hant"}
"""Codes that stand for a language beside the usual one: former codes, and the codes of some translation services."""


@lru_cache(maxsize=256)
def same_language(first: str, second: str) -> bool:
    """Whether two names mean the same language: `de` also matches `de-AT`, `iw` matches `he`, and case and a form of
    address (`split_form`) are ignored."""
    first, second = map(usual_code, (first, second))
    return first == second or first == second.partition("-")[0] or first.partition("-")[0] == second


def usual_code(name: str) -> str:
    """A code as languages are compared: `pt-br` for `pt_BR@formal`, `zh-hant` for `zt`."""
    language, hyphen, region = split_form(name)[0].lower().replace("_", "-").partition("-")
    return f"{SYNONYMS.get(language, language)}{hyphen}{region}"


def require_one_direction(corpora: Iterable[Corpus]) -> None:
    """Raises `UserError` that names both corpora if their known languages differ on the same side."""
    first: dict[int, Corpus] = {}
    for corpus in corpora:
        for side, language in enumerate(_languages(corpus)):
            earlier = first.setdefault(side, corpus) if language else corpus
            if _languages(earlier)[side] != language:
                raise UserError(
                    f"{_described(corpus)}, and {_described(earlier)}: a model translates in one direction. Give the "
                    "two files of each corpus in the same order; where a file name is misleading, name the languages "
                    "with --source and --target. For one model of several directions write them before each file: "
                    "--train en-de=a.tsv en-fr=b.tsv"
                )


def require_not_reversed(tests: Iterable[Corpus], trained: Sequence[Corpus]) -> None:
    """Raises `UserError` for a test set with the source and target languages of the model swapped."""
    models = [_languages(corpus) for corpus in trained]
    for test in tests:
        languages = _languages(test)
        for corpus, (source, target) in zip(trained, models, strict=True):
            is_reversed = (target and languages[0] == target) or (source and languages[1] == source)
            if is_reversed and source != target and languages not in models:
                raise UserError(
                    f"{_described(test)}, and the model translates from {corpus.source} to {corpus.target}: give the "
                    "two files in the other order, or another model"
                )


def _languages(corpus: Corpus) -> tuple[str, str]:
    """The languages of both sides in lowercase, without region or script: `pt` for `pt-BR`; empty if unknown."""
    source, target = (usual_code(language).partition("-")[0] for language in known_languages(corpus))
    return source, target


def _described(corpus: Corpus) -> str:
    return f"{corpus} translates from {corpus.source} to {corpus.target}"
