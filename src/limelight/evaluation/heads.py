"""Heads over a corpus: what each attends to, how much it matters, and how many can go.

The work is a sequence of named steps whose results are plain values for JSON, so that a caller can keep them and
continue later (`study_heads(..., done=...)`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from limelight.config import Direction
from limelight.errors import UserError
from limelight.evaluation.head_report import HeadFigures, HeadStudy, Mean, Point
from limelight.evaluation.metrics import choose_tokenization, corpus_bleu
from limelight.evaluation.summary import files_of, versions
from limelight.inspection.batches import batches_of
from limelight.inspection.erasure import Rows as Erased
from limelight.inspection.erasure import needed_words
from limelight.inspection.head_importance import (
    Change,
    Head,
    change_of,
    gradient_scores,
    heads_of,
    removal_order,
    sentence_losses,
    token_counts,
    without,
)
from limelight.inspection.head_roles import Needed, measures
from limelight.inspection.page_data import NAMES
from limelight.inspection.probe import probe
from limelight.inspection.words import readable
from limelight.models.interface import eval_mode, longest_sequence
from limelight.pipelines.options import SEARCH_ONLY, TextOptions
from limelight.pipelines.translator import Translator
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers
from limelight.tokens.tokenizer import is_control

SENTENCES = 500
"""Pairs of a test set that are used by default."""
MAX_TOKENS = 200
"""Pairs with longer sides are left out: every head has a weight for each pair of tokens."""
CHUNK = 50
"""Sentences of a step in which roles are measured."""

Groups = Mapping[Direction | None, Sequence[Pair]]
OnStep = Callable[[int, int, Mapping[str, Any]], None]
"""Called after each step with the number of steps done and to do, and all results so far."""
Values = dict[str, dict[str, list[float]]]
"""For each head and role the values of sentences."""


class _Sentence(NamedTuple):
    """A pair as ids."""

    tokenizers: Tokenizers
    source: list[int]
    target: list[int]


def study_heads(
    translator: Translator,
    pairs: Groups,
    *,
    bleu: bool = False,
    sentences: int = SENTENCES,
    origin: Mapping[str, Any] | None = None,
    done: Mapping[str, Any] | None = None,
    on_step: OnStep = lambda *_: None,
) -> HeadStudy:
    """Measure all heads of a Transformer with encoder and decoder on text with references.

    Roles are measured on forced references; what a target token needs is found by leaving out source words
    (`inspection.erasure`). Importance: `inspection.head_importance`.

    Args:
        pairs: by direction, None for a model of one.
        bleu: also measure BLEU without each head and at each step of a curve, which translates all sentences each time.
        sentences: maximum number of pairs, spread evenly over all.
        origin: for the provenance, such as the model's folder.
        done: the results of an earlier call that `on_step` was given; the same arguments are required.

    Raises `UserError` for other models, and if there is no pair that is short enough.
    """
    heads = heads_of(translator.model)
    chosen, rows = _choose(translator, pairs, sentences)
    study = _Study(translator, chosen, rows, bleu, len(heads), dict(done or {}), on_step)
    roles = study.roles(heads)
    gradients = {Head(*each): score for *each, score in study.step("gradient", study.gradient)}
    whole = study.step("whole", partial(study.measured, []))
    before = np.array(study.step("losses", lambda: study.losses([]).tolist()))
    alone = {head: study.step(f"without {head}", partial(study.alone, head, before)) for head in heads}
    changes = {head: Change(*each["change"]) for head, each in alone.items()}
    orders = {
        "removal": removal_order({head: change.mean for head, change in changes.items()}),
        "gradient": removal_order(gradients),
    }
    return HeadStudy(
        loss=whole["loss"],
        bleu=whole.get("bleu"),
        heads=tuple(
            HeadFigures(head, roles[head], changes[head], gradients[head], alone[head].get("bleu")) for head in heads
        ),
        curves={name: study.curve(name, order, whole) for name, order in orders.items()},
        provenance={
            **(origin or {}),
            **files_of([each for some in pairs.values() for each in some]),
            "sentences": len(rows),
            "versions": versions(),
        },
    )


def _choose(
    translator: Translator, given: Groups, most: int
) -> tuple[dict[Direction | None, list[Pair]], list[_Sentence]]:
    """Pairs that are short enough, spread evenly over all."""
    every = [(direction, pair) for direction, some in given.items() for pair in some]
    longest = min(MAX_TOKENS, (longest_sequence(translator.model) or MAX_TOKENS + 1) - 1)
    tokenizers = {direction: translator.towards(direction) for direction in given}
    chosen: dict[Direction | None, list[Pair]] = {}
    rows = []
    for direction, pair in every[:: max(1, len(every) // most)][:most]:
        sides = tokenizers[direction]
        source, target = sides.source.encode(pair.source), sides.target.encode(pair.target)
        if 0 < len(source) <= longest and 0 < len(target) <= longest:
            chosen.setdefault(direction, []).append(pair)
            rows.append(_Sentence(sides, source, target))
    if not rows:
        raise UserError(f"no pair has from 1 to {longest} tokens on each side: give other text")
    return chosen, rows


@dataclass
class _Study:
    translator: Translator
    pairs: dict[Direction | None, list[Pair]]
    sentences: list[_Sentence]
    with_bleu: bool
    heads: int
    done: dict[str, Any]
    on_step: OnStep
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.model = self.translator.model
        sides = zip(*((each.source, each.target) for each in self.sentences), strict=True)
        self.corpus = batches_of(self.model, *sides)
        self.tokens = token_counts(self.corpus)
        self.total = -(-len(self.sentences) // CHUNK) + 3 + 3 * self.heads
        """Number of steps."""

    def step(self, name: str, work: Callable[[], Any]) -> Any:
        """The result of a step, from before or from now."""
        if name not in self.done:
            self.done[name] = work()
        self.count += 1
        self.on_step(self.count, self.total, self.done)
        return self.done[name]

    def gradient(self) -> list[list[Any]]:
        return [[*head, score] for head, score in gradient_scores(self.model, self.corpus).items()]

    def alone(self, head: Head, before: Any) -> dict[str, Any]:
        """How the loss changes without one head."""
        return {"change": list(change_of(self.losses([head]), before, self.tokens)), **self._bleu([head])}

    def measured(self, removed: Sequence[Head]) -> dict[str, Any]:
        return {"loss": float(self.losses(removed).sum() / self.tokens.sum()), **self._bleu(removed)}

    def losses(self, removed: Sequence[Head]) -> Any:
        return sentence_losses(self.model, self.corpus, removed=removed)

    def _bleu(self, removed: Sequence[Head]) -> dict[str, float]:
        """The mean over directions."""
        if not self.with_bleu:
            return {}
        translator, found = self.translator, []
        if removed:
            translator = translator.with_heads(without(self.model, removed))
        for direction, some in self.pairs.items():
            languages = direction or ("", "")
            asked: TextOptions = {**SEARCH_ONLY, "source_lang": languages[0], "target_lang": languages[1]}
            said = translator.translate([pair.source for pair in some], **asked)
            references = [pair.target for pair in some]
            tokenize = choose_tokenization(languages[1], references).name
            found.append(corpus_bleu([each.text for each in said], references, tokenize=tokenize).score)
        return {"bleu": float(np.mean(found))}

    def curve(self, name: str, order: Sequence[Head], whole: Mapping[str, Any]) -> tuple[Point, ...]:
        points = [Point(None, whole["loss"], whole.get("bleu"))]
        for count, head in enumerate(order, start=1):
            each = self.step(f"{name} {count}", partial(self.measured, order[:count]))
            points.append(Point(head, each["loss"], each.get("bleu")))
        return tuple(points)

    def roles(self, heads: Sequence[Head]) -> dict[Head, dict[str, Mean]]:
        """The roles of each head."""
        values: Values = {}
        counts = Counter(token for each in self.sentences for token in each.source)
        for first in range(0, len(self.sentences), CHUNK):
            some = self.sentences[first : first + CHUNK]
            for owner, roles in self.step(f"roles {first}", partial(self._chunk, some, counts)).items():
                for role, found in roles.items():
                    values.setdefault(owner, {}).setdefault(role, []).extend(found)
        return {
            head: {role: Mean(float(np.mean(each)), float(np.std(each))) for role, each in values[str(head)].items()}
            for head in heads
        }

    def _chunk(self, sentences: Sequence[_Sentence], counts: Counter[int]) -> Values:
        values: Values = {}
        sides = zip(*((each.source, each.target) for each in sentences), strict=True)
        for rows in batches_of(self.model, *sides):
            with eval_mode(self.model), probe(self.model, weights=True) as seen:
                self.model(rows.batch)
            weights = {kind: [layer.float().cpu().numpy() for layer in seen.layers(kind)] for kind in NAMES}
            for row, place in enumerate(rows.places):
                one = sentences[place]
                source, target = len(one.source) + 1, len(one.target) + 1
                height = {"encoder_self": source, "decoder_self": target, "cross": target}
                width = {"encoder_self": source, "decoder_self": target, "cross": source}
                needed = _needed(self.translator, one)
                for kind, name in NAMES.items():
                    columns, own = _columns(one, kind, counts), needed if kind == "cross" else None
                    for depth, layer in enumerate(weights[kind]):
                        for number, head in enumerate(layer[row, :, : height[kind], : width[kind]]):
                            found = measures(head, kind, needed=own, columns=columns)
                            if own is not None:  # row t + 1 reads token t
                                found["aligns_read"] = measures(head[1:], kind, needed=own)["aligns"]
                            roles = values.setdefault(str(Head(name.format(depth), number)), {})
                            for role, value in found.items():
                                roles.setdefault(role, []).append(float(value))
        return values


def _columns(one: _Sentence, kind: str, counts: Counter[int]) -> dict[str, list[int]]:
    """The columns of punctuation, of tags, and, in sources of at least three tokens, of the least frequent token."""
    if kind == "decoder_self":
        pieces = one.tokenizers.target.pieces(one.target)
        found = {"signs": [place for place, piece in enumerate(pieces, start=1) if _is_sign(piece)]}
    else:
        pieces = one.tokenizers.source.pieces(one.source)
        tags = [place for place, piece in enumerate(pieces) if is_control(piece)]
        words = [place for place in range(len(pieces)) if place not in tags]
        least = min((counts[one.source[place]] for place in words), default=0)
        rare = [place for place in words if counts[one.source[place]] == least]
        found = {"signs": [place for place, piece in enumerate(pieces) if _is_sign(piece)], "tag": tags}
        found["rare"] = rare if len(words) >= 3 and len(rare) < len(words) else []
    return {name: columns for name, columns in found.items() if columns}


def _is_sign(piece: str) -> bool:
    """Whether a token is punctuation: it has characters, and none is a letter or a digit."""
    text = readable(piece).strip("▁ ")
    return bool(text) and not is_control(piece) and not any(letter.isalnum() for letter in text)


def _needed(translator: Translator, one: _Sentence) -> Needed | None:
    """For each target token the source tokens of the word that it needs most; None if no token needs one."""
    pieces = one.tokenizers.source.pieces(one.source)
    numbers = one.tokenizers.source.word_of(one.source)
    words = [[] if is_control(piece) else [word] for piece, word in zip(pieces, numbers, strict=True)]
    needed = needed_words(translator.model, Erased(one.source, one.target, words, max(numbers) + 1))
    return needed if any(needed) else None
