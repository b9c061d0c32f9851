"""Explanations of a translation for the page: weights, decoding steps, beam search, attention computations, and what
the weights do.

Every result is a pure function of the translator and the question (text, direction, tokens, changed heads), so a server
needs no state between two requests.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from limelight.batching.batch import Batch
from limelight.decoding.request import check_request
from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.beam_tree import beam_tree
from limelight.inspection.contributions import contributions
from limelight.inspection.erasure import TokenizedPair, erasures, needed_words, with_words
from limelight.inspection.head_roles import Needed
from limelight.inspection.heads import with_heads, without_heads
from limelight.inspection.layers import decoder_lens, encoder_lens
from limelight.inspection.look_up import candidate, decoding_steps, look_up
from limelight.inspection.maps import attention_map
from limelight.inspection.model_map import inside, model_map
from limelight.inspection.page_data import JsonObject, packed, page_document
from limelight.inspection.similar import similar_words
from limelight.inspection.standalone import require_theme, standalone_page
from limelight.inspection.word_alignment import best_sources, between_words
from limelight.models.interface import eval_mode
from limelight.models.transformer.model import Transformer
from limelight.pipelines.job import BLANK
from limelight.pipelines.translator import Translator
from limelight.tokens import UNKNOWN, Tokenizer

MAX_TOKENS = 200
"""Maximum tokens of source and of target: every head has a weight for each pair of them."""
MAX_ERASED = 600
"""Maximum source words * target tokens for which each word is left out once, to find heads that align: a third of the
time of an explanation."""
MAX_MEASURED = 4000
"""The same for `measures`, where somebody has asked for it."""


@dataclass(frozen=True, slots=True)
class Question:
    """The translation to explain."""

    text: str
    source_lang: str = ""
    target_lang: str = ""
    beam_size: int | None = None
    prefix: Sequence[int] = ()
    """Forced first target tokens of the translation."""
    forced: str = ""
    """Text that the translation goes on with after `prefix`."""
    target: Sequence[int] | None = None
    """The target tokens; None for the model's own translation."""
    off: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Switched-off heads, by the name of their attention."""


class Explanation:
    """A question in tokens, and its answers as values for JSON. All but `explain`, `heads` and `whole` need a target.

    Raises `UserError` for a blank text, a text that is too long, an ensemble, a direction that the model does not have,
    unknown heads, and heads of a recurrent model.
    """

    def __init__(self, translator: Translator, question: Question) -> None:
        self.translator, self.question, self.model = translator, question, translator.model
        if question.off:
            self.model = with_heads(self.model, without_heads(self.model, question.off))
        (part,) = translator.prepare(
            [question.text],
            source_lang=question.source_lang,
            target_lang=question.target_lang,
            beam_size=question.beam_size,
        )
        if part.request is None:
            raise UserError(BLANK)
        self.tokenizers = translator.tokenizers_of(part.direction)
        # Some models begin with the token of the target language; a prefix of the question has it already.
        prefix = (*(question.prefix or part.request.prefix), *_forced(self.tokenizers.target, question.forced))
        self.source, self.target = part.request.source[:-1], question.target or ()
        tokens = max(len(part.request.source), len(self.target), len(prefix))
        if tokens > MAX_TOKENS:
            raise UserError(
                f"the sentence has {tokens} tokens, and at most {MAX_TOKENS} are explained: give a shorter one"
            )
        for token in self.target:
            if not 0 <= token < self.model.output_size or token == self.model.end_id:
                raise UserError(f"the target has the id {token}, which is not a target token of this model")
        # All tokens are scored, without a shortlist: tokens outside it would seem impossible on the page.
        self.request = replace(part.request, prefix=prefix, shortlist=None)
        check_request(self.request, self.model)

    @property
    def in_words(self) -> TokenizedPair:
        """Source and target, with the words of the source; each target token is a word."""
        return with_words(self.tokenizers.source, self.source, self.target)

    def weights(self) -> AttentionMap:
        """The attention map."""
        seen = attention_map(self.model, self.tokenizers, self.question.text, self.target, source_ids=self.source)
        return replace(seen, model=self.translator.name)

    def explain(self, *, every_head: bool = False) -> JsonObject:
        """The page's document, with `steps`, `beam` and `translation`. With a given target there is no search and no
        `beam`."""
        model, question, own, tree = self.model, self.question, self.tokenizers.target, None
        if question.target is None:
            hypotheses, tree = beam_tree(model, own, self.request)
            self.target = hypotheses[0].ids
        steps, seen = decoding_steps(model, own, self._pair, self.target), self.weights()
        needed, roles = self._needed(seen), self.translator.head_roles
        document = page_document(seen, every_head=every_head, needed=needed, off=question.off, roles=roles)
        if needed is not None:
            document["alignment"] = [list(tokens) for tokens in needed]
        document["steps"] = steps
        document["translation"] = {
            "text": seen.target_text,
            "ids": list(self.target),
            "log_probability": sum(step["chosen"]["log_probability"] for step in steps),
            "prefix": list(self.request.prefix),
            "off": {name: list(heads) for name, heads in question.off.items()},
        }
        return document if tree is None else document | {"beam": tree}

    def heads(self) -> JsonObject:
        """The document with the weights of every head, and without the beam, which is as large."""
        document = self.explain(every_head=True)
        document.pop("beam", None)
        return document

    def whole(self) -> JsonObject:
        """The document of a file that works without a server: with every head, all measures, and the computations of
        the head that aligns best."""
        document = self.explain(every_head=True)
        document["measures"], document["layers"], document["map"] = self.measures(), self.layers(), self.map()
        cross = next((kind for kind in document["kinds"] if kind["name"] == "cross"), None)
        if cross is not None:
            roles = {
                (layer, head): (role["role"] == "aligns", role["value"])
                for layer, heads in enumerate(cross["descriptions"])
                for head, role in enumerate(heads)
            }
            layer, head = max(roles, key=lambda place: roles[place])
            rows = range(len(document["steps"]))
            look_ups = [self.look_up("cross", layer, head, row) for row in rows]
            for look_up in look_ups[1:]:  # keys and values come from the source, whatever the row
                del look_up["keys"], look_up["values"]
            document["look_ups"] = {f"cross/{layer}/{head}/{row}": look_up for row, look_up in enumerate(look_ups)}
        return document

    def _needed(self, seen: AttentionMap) -> Needed | None:
        """The source tokens that each target token needs: the tokens of the word with which the model's alignment heads
        link it, or, without alignment heads, the tokens that erasure finds. None for a long sentence."""
        pair = self.in_words
        if not seen.cross.size:
            return None
        if heads := self.translator.alignment_heads:
            linked = best_sources(between_words(seen.cross.astype(np.float64), pair), heads)
            return [*map(pair.tokens_of, linked), []]
        return needed_words(self.model, pair) if self._positions <= MAX_ERASED else None

    def measures(self) -> JsonObject:
        """What weights do not say: `erasure` and `contributions`.

        `erasure` is (target tokens, source words), log p(token) minus the same without the word (`inspection.erasure`);
        it is missing for a long sentence. `contributions` exist for Transformers (`inspection.contributions`).
        """
        measures = JsonObject()
        if self._positions <= MAX_MEASURED:
            measures["erasure"] = packed(erasures(self.model, self.in_words).T)
        if isinstance(self.model, Transformer):
            measures["contributions"] = {
                kind: {"norms": packed(contribution.norms), "mean": packed(mean_share(contribution.layers))}
                for kind, contribution in contributions(self.model, self.source, self.target).items()
            }
        return measures

    @property
    def _positions(self) -> int:
        """The number of target positions of which erasures take the probabilities."""
        words, size = self.in_words.sizes
        return words * (size + 1)

    def layers(self) -> JsonObject:
        """What can be read from each layer (`inspection.layers`); empty for other models than Transformers."""
        own, model = self.tokenizers.target, self.model
        if not isinstance(model, Transformer):
            return {}
        # Lower layers often repeat a word without end: the rest of that would take most of the time.
        length = min(self.request.limit, len(self.target) + 5)
        read = encoder_lens(model, self.source, max_length=length, prefix=self.request.prefix)
        predicted = decoder_lens(model, self.source, self.target)
        return {
            "encoder": [
                {
                    "text": own.decode(reading.ids),
                    "log_probability": reading.log_probability,
                    "finished": reading.finished,
                }
                for reading in read
            ],
            "decoder": [
                [
                    candidate(own, reading.best, math.log(reading.best_probability), end=model.end_id)
                    | {"chosen": reading.probability}
                    for reading in row
                ]
                for row in predicted
            ],
        }

    def head(self, kind: str, layer: int, head: int) -> JsonObject:
        """The weights of one head in float32."""
        return packed(self.weights().average(kind, layer=layer, heads=head))

    def look_up(self, kind: str, layer: int, head: int, row: int) -> JsonObject:
        """The numbers of one attention computation, see `inspection.look_up`."""
        return look_up(self.model, self.source, self.target, kind=kind, layer=layer, head=head, row=row)

    def map(self) -> JsonObject:
        """The map of the model, see `inspection.model_map`."""
        return model_map(self.model, self._pair)

    def inside(self, side: str, layer: int, place: int) -> JsonObject:
        """One layer at one position, see `inspection.model_map`; tokens that are raised have their text."""
        document = inside(self.model, self._pair, side, layer, place)
        own, end = self.tokenizers.target, self.model.end_id
        return document | {
            "raised": [
                {"text": candidate(own, token, 0.0, end=end)["text"], "value": value}
                for token, value in document.get("raised", ())
            ]
        }

    def distribution(self, row: int) -> JsonObject:
        """The log-probabilities of all tokens at a target position."""
        with eval_mode(self.model) as device:
            features = self.model(self._pair.to(device))[0]
            if not 0 <= row < len(features):
                raise UserError(f"there is no step {row}: there are {len(features)}, they count from 0")
            return packed(self.model.project(features[row]).float().log_softmax(dim=-1).cpu().numpy())

    def similar(self, layer: int, word: int, lines: Sequence[str]) -> list[JsonObject]:
        """The words of these lines that are most similar to a source word, see `inspection.similar`."""
        plain = replace(self.question, target=None, prefix=(), forced="", off={})
        texts = [line for line in dict.fromkeys(map(str.strip, lines)) if line not in ("", self.question.text.strip())]
        if not texts:
            raise UserError("there is no other sentence to search: paste some, one a line")
        ids = [self.source, *(Explanation(self.translator, replace(plain, text=text)).source for text in texts)]
        return similar_words(self.model, self.tokenizers.source, [self.question.text, *texts], ids, layer, word)

    @property
    def _pair(self) -> Batch:
        """The source and the target as a batch."""
        return self.model.batch([self.source], [self.target])


def explain(translator: Translator, question: Question, *, every_head: bool = False) -> JsonObject:
    """The page's document of a translation, see `Explanation.explain`."""
    return Explanation(translator, question).explain(every_head=every_head)


def explained_page(translator: Translator, question: Question, *, theme: str = "dark") -> str:
    """The explanation as one HTML file that works without a server, see `Explanation.whole`."""
    require_theme(theme)
    return standalone_page(Explanation(translator, question).whole(), theme=theme)


def mean_share(layers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(rows, columns): each row as shares, the mean over the layers; zero where a layer contributes nothing."""
    sums = layers.sum(axis=-1, keepdims=True)
    return (layers / np.where(sums > 0, sums, 1)).mean(axis=0)


def _forced(tokenizer: Tokenizer, text: str) -> list[int]:
    """The tokens of a forced text. Raises `UserError` where the vocabulary lacks a character."""
    ids = tokenizer.encode(text) if text.strip() else []
    if UNKNOWN in ids:
        raise UserError(f"{text!r} has characters that are not in the target vocabulary: force other words")
    return ids


ANSWERS = ("explain", "whole", "heads", "head", "look_up", "measures", "layers", "map", "inside",
           "distribution", "similar")  # fmt: skip
"""Explanations that a service offers, by the names of their methods."""

_QUESTION_FIELDS = {option.name for option in fields(Question)}
_ARGUMENTS = ("kind", "side", "layer", "head", "row", "place", "word", "lines")


def answer(name: str, translator: Translator, text: str, options: Mapping[str, Any]) -> Any:
    """An explanation, with the fields of the question and the further arguments from the JSON of a request."""
    question = Question(text, **{key: value for key, value in options.items() if key in _QUESTION_FIELDS})
    further = {key: options[key] for key in _ARGUMENTS if key in options}
    return getattr(Explanation(translator, question), name)(**further)
