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
from limelight.evaluation.metrics import GoldAlignment, alignment_error_rate, choose_tokenization, corpus_bleu
from limelight.evaluation.summary import files_of, versions
from limelight.inspection.batches import Rows, batches_of
from limelight.inspection.erasure import Rows as Erased
from limelight.inspection.erasure import needed_words
from limelight.inspection.head_importance import (
    Change,
    Head,
    change_of,
    gradient_scores,
    heads_of,
    normalized,
    removal_order,
    sentence_losses,
    token_counts,
    without,
)
from limelight.inspection.head_roles import Needed, Weights, measures
from limelight.inspection.page_data import NAMES
from limelight.inspection.probe import probe
from limelight.inspection.word_alignment import AlignmentHead
from limelight.inspection.words import readable
from limelight.models.interface import eval_mode, longest_sequence
from limelight.pipelines.align import AttentionAligner
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


@dataclass(frozen=True, slots=True)
class What:
    """What is measured beside roles and the loss.

    Attributes:
        bleu: BLEU without each head, and at each step of a curve: a translation of all sentences each time.
        gold: hand alignments of all pairs, for the alignment error rate of each head.
    """

    bleu: bool = False
    gold: Sequence[GoldAlignment] = ()


class _Sentence(NamedTuple):
    """A pair as ids, with what the measurement of roles needs."""

    tokenizers: Tokenizers
    source: list[int]
    target: list[int]


def study_heads(
    translator: Translator,
    pairs: Groups,
    *,
    what: What | None = None,
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
        sentences: maximum number of pairs, spread evenly over all.
        origin: for the provenance, such as the model's folder.
        done: the results of an earlier call that `on_step` was given; the same arguments are required.

    Raises `UserError` for other models, if there is no pair that is short enough, and for another number of hand
    alignments than pairs.
    """
    study = _Study(translator, pairs, what or What(), sentences, dict(done or {}), on_step)
    return study.result({**(origin or {}), **files_of([each for some in pairs.values() for each in some])})


@dataclass
class _Study:
    translator: Translator
    given: Groups
    what: What
    most: int
    done: dict[str, Any]
    on_step: OnStep
    count: int = 0
    chosen: dict[Direction | None, list[Pair]] = field(default_factory=dict)
    sentences: list[_Sentence] = field(default_factory=list)
    corpus: list[Rows] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.heads = heads_of(self.translator.model)
        self._choose()
        self.corpus = batches_of(
            self.translator.model,
            [each.source for each in self.sentences],
            [each.target for each in self.sentences],
        )
        self.tokens = token_counts(self.corpus)

    def _choose(self) -> None:
        """Pairs that are short enough, spread evenly over all."""
        every = [(direction, pair) for direction, some in self.given.items() for pair in some]
        longest = min(MAX_TOKENS, (longest_sequence(self.translator.model) or MAX_TOKENS + 1) - 1)
        tokenizers = {direction: self.translator.towards(direction) for direction in self.given}
        for direction, pair in every[:: max(1, len(every) // self.most)][: self.most]:
            sides = tokenizers[direction]
            source, target = sides.source.encode(pair.source), sides.target.encode(pair.target)
            if 0 < len(source) <= longest and 0 < len(target) <= longest:
                self.chosen.setdefault(direction, []).append(pair)
                self.sentences.append(_Sentence(sides, source, target))
        if not self.sentences:
            raise UserError(f"no pair has from 1 to {longest} tokens on each side: give other text")
        if self.what.gold and len(self.what.gold) != len(every):
            raise UserError(
                f"{len(self.what.gold):,} hand alignments for {len(every):,} pairs: give one line for each pair"
            )

    @property
    def total(self) -> int:
        """Number of steps."""
        heads, curves = len(self.heads), 2
        roles = -(-len(self.sentences) // CHUNK)
        return roles + 3 + heads + curves * heads + bool(self.what.gold)

    def step(self, name: str, work: Callable[[], Any]) -> Any:
        """The result of a step, from before or from now."""
        if name not in self.done:
            self.done[name] = work()
        self.count += 1
        self.on_step(self.count, self.total, self.done)
        return self.done[name]

    def result(self, origin: Mapping[str, Any]) -> HeadStudy:
        """Take all steps."""
        roles, chance = self._roles()
        gradients = {Head(*each): score for *each, score in self.step("gradient", self._gradient)}
        whole = self.step("whole", partial(self._measured, []))
        self.before = np.array(
            self.step("losses", lambda: sentence_losses(self.translator.model, self.corpus).tolist())
        )
        alone = {head: self.step(f"without {head}", partial(self._alone, head)) for head in self.heads}
        rates = self.step("alignment", self._error_rates) if self.what.gold else {}
        shares, changes = normalized(gradients), {head: Change(*each["change"]) for head, each in alone.items()}
        orders = {
            "removal": removal_order({head: change.mean for head, change in changes.items()}),
            "gradient": removal_order(gradients),
        }
        curves = {name: self._curve(name, order, whole) for name, order in orders.items()}
        return HeadStudy(
            loss=whole["loss"],
            bleu=whole.get("bleu"),
            heads=tuple(
                HeadFigures(
                    head, roles[head], changes[head], gradients[head], shares[head], alone[head].get("bleu"),
                    rates.get(str(head), {}),
                )
                for head in self.heads
            ),
            chance=chance,
            curves=curves,
            provenance={**origin, "sentences": len(self.sentences), "versions": versions()},
        )  # fmt: skip

    def _gradient(self) -> list[list[Any]]:
        return [[*head, score] for head, score in gradient_scores(self.translator.model, self.corpus).items()]

    def _alone(self, head: Head) -> dict[str, Any]:
        """The loss without one head, and how it changes."""
        losses = self._losses([head])
        return {"change": list(change_of(losses, self.before, self.tokens)), **self._bleu([head])}

    def _measured(self, removed: Sequence[Head]) -> dict[str, Any]:
        return {"loss": self._loss(removed), **self._bleu(removed)}

    def _losses(self, removed: Sequence[Head]) -> Any:
        return sentence_losses(self.translator.model, self.corpus, removed=removed)

    def _loss(self, removed: Sequence[Head]) -> float:
        return float(self._losses(removed).sum() / self.tokens.sum())

    def _bleu(self, removed: Sequence[Head]) -> dict[str, float]:
        """The mean over directions."""
        if not self.what.bleu:
            return {}
        translator, found = self.translator, []
        if removed:
            translator = translator.with_heads(without(translator.model, removed))
        for direction, some in self.chosen.items():
            languages = direction or ("", "")
            asked: TextOptions = {**SEARCH_ONLY, "source_lang": languages[0], "target_lang": languages[1]}
            said = translator.translate([pair.source for pair in some], **asked)
            references = [pair.target for pair in some]
            tokenize = choose_tokenization(languages[1], references).name
            found.append(corpus_bleu([each.text for each in said], references, tokenize=tokenize).score)
        return {"bleu": float(np.mean(found))}

    def _curve(self, name: str, order: Sequence[Head], whole: Mapping[str, Any]) -> tuple[Point, ...]:
        points = [Point(None, whole["loss"], whole.get("bleu"))]
        for count, head in enumerate(order, start=1):
            each = self.step(f"{name} {count}", partial(self._measured, order[:count]))
            points.append(Point(head, each["loss"], each.get("bleu")))
        return tuple(points)

    def _error_rates(self) -> dict[str, dict[str, float]]:
        """The alignment error rate of each head of cross-attention alone, in one direction."""
        [(direction, pairs)] = self.given.items()
        aligner, words = self.translator.aligner, [(pair.source.split(), pair.target.split()) for pair in pairs]
        found: dict[str, dict[str, float]] = {}
        for head in self.heads:
            if not head.attention.endswith(".cross"):
                continue
            layer = int(head.attention.split(".")[1])
            for name, reads in (("predicting", False), ("reading", True)):
                one = [AlignmentHead(layer, head.number, reads)]
                own = AttentionAligner(aligner.model, aligner.towards, aligner.directions, one)
                links = own.align(words, direction, symmetrize=False)
                found.setdefault(str(head), {})[name] = alignment_error_rate(links, self.what.gold)
        return found

    def _roles(self) -> tuple[dict[Head, dict[str, Mean]], dict[str, dict[str, float]]]:
        """The roles of each head, and of a head with equal weights for each kind."""
        sums: dict[str, dict[str, Any]] = {}
        counts = Counter(token for each in self.sentences for token in each.source)
        for first in range(0, len(self.sentences), CHUNK):
            some = self.sentences[first : first + CHUNK]
            for owner, values in self.step(f"roles {first}", partial(self._chunk, some, counts)).items():
                for role, each in values.items():
                    before = sums.setdefault(owner, {}).get(role, (0, 0.0, 0.0))
                    sums[owner][role] = tuple(a + b for a, b in zip(before, each, strict=True))
        found = {owner: {role: _mean(*each) for role, each in values.items()} for owner, values in sums.items()}
        chance = {kind: {role: each.mean for role, each in found.pop(kind).items()} for kind in NAMES}
        return {head: found[str(head)] for head in self.heads}, chance

    def _chunk(self, sentences: Sequence[_Sentence], counts: Counter[int]) -> dict[str, dict[str, list[float]]]:
        """For each head, and each kind, number, sum and sum of squares of each role over some sentences."""
        model = self.translator.model
        sums: dict[str, dict[str, list[float]]] = {}
        for rows in batches_of(model, [each.source for each in sentences], [each.target for each in sentences]):
            with eval_mode(model), probe(model, weights=True) as seen:
                model(rows.batch)
            weights = {kind: [layer.float().cpu().numpy() for layer in seen.layers(kind)] for kind in NAMES}
            for row, place in enumerate(rows.places):
                one = sentences[place]
                needed = _needed(self.translator, one)
                for kind, name in NAMES.items():
                    sizes, columns = _sizes(one, kind), _columns(one, kind, counts)
                    own = needed if kind == "cross" else None
                    for depth, layer in enumerate(weights[kind]):
                        for number, head in enumerate(layer[row, :, : sizes[0], : sizes[1]]):
                            _add(sums, str(Head(name.format(depth), number)), _roles_of(head, kind, own, columns))
                    _add(sums, kind, _chance(kind, sizes, own, columns))
        return sums


def _add(sums: dict[str, dict[str, list[float]]], owner: str, values: Mapping[str, float]) -> None:
    for role, value in values.items():
        before = sums.setdefault(owner, {}).setdefault(role, [0, 0.0, 0.0])
        for place, added in enumerate((1, value, value**2)):
            before[place] += added


def _mean(count: int, total: float, squares: float) -> Mean:
    mean = total / count
    return Mean(mean, max(0.0, squares / count - mean**2) ** 0.5)


def _roles_of(head: Weights, kind: str, needed: Needed | None, columns: Mapping[str, list[int]]) -> dict[str, float]:
    found = measures(head, kind, needed=needed, columns=columns)
    if needed is not None:  # row t + 1 reads token t
        found["aligns_read"] = measures(head[1:], kind, needed=needed)["aligns"]
    return found


def _chance(
    kind: str, sizes: tuple[int, int], needed: Needed | None, columns: Mapping[str, list[int]]
) -> dict[str, float]:
    """The roles of a head whose weights are equal."""
    weights = np.tri(*sizes, dtype=np.float32) if kind == "decoder_self" else np.ones(sizes, dtype=np.float32)
    found = measures(weights / weights.sum(axis=1, keepdims=True), kind, columns=columns)
    if needed is not None:
        found["aligns"] = found["aligns_read"] = float(np.mean([len(each) / (sizes[1] - 1) for each in needed if each]))
    return found


def _sizes(one: _Sentence, kind: str) -> tuple[int, int]:
    source, target = len(one.source) + 1, len(one.target) + 1
    return {"encoder_self": (source, source), "decoder_self": (target, target), "cross": (target, source)}[kind]


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
