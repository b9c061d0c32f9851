"""Explanations of a translation for the page: weights, decoding steps, beam search, attention computations.

Every result is a pure function of the translator and the question (text, direction, tokens, changed heads), so a server
needs no state between two requests.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from limelight.batching.batch import Batch
from limelight.config import Direction
from limelight.decoding.request import Request
from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.beam_tree import beam_tree
from limelight.inspection.contributions import followed, of_parts
from limelight.inspection.erasure import Rows, erasures, needed_words
from limelight.inspection.forward_pass import forward_pass, has_parts
from limelight.inspection.head_roles import Needed
from limelight.inspection.heads import head_counts
from limelight.inspection.layers import decoder_lens, encoder_lens
from limelight.inspection.look_up import candidate, decoding_steps, look_up
from limelight.inspection.maps import attention_map
from limelight.inspection.model_map import inside, model_map
from limelight.inspection.page_data import packed, page_document
from limelight.inspection.probe import Intervention, probe
from limelight.inspection.standalone import require_theme, standalone_page
from limelight.inspection.word_alignment import TokenizedPair, best_sources, between_words
from limelight.models.interface import eval_mode
from limelight.models.transformer.model import Transformer
from limelight.pipelines.patch import patch_texts
from limelight.pipelines.translator import Translator
from limelight.tokens import UNKNOWN, Tokenizer, Tokenizers
from limelight.tokens.tokenizer import is_control

MAX_TOKENS = 200
"""Maximum tokens of source and of target: every head has a weight for each pair of them."""
MAX_ERASED = 600
"""Maximum source words * target tokens for which each word is left out once, to find heads that align: a third of the
time of an explanation."""
MAX_MEASURED = 4000
"""The same for `measured`, where somebody has asked for it."""
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0


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
    temperature: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Temperatures of the softmax of single heads, by the name of their attention: below 1 sharper, above 1 flatter."""


class Asked(NamedTuple):
    """A question in tokens."""

    tokenizers: Tokenizers
    request: Request
    intervention: Intervention

    @property
    def source(self) -> Sequence[int]:
        """The source without its end."""
        return self.request.source[:-1]

    def pair(self, translator: Translator, question: Question) -> Batch:
        """The source and the given target as a batch."""
        return translator.model.batch([self.source], [question.target or ()])


def explain(translator: Translator, question: Question, *, every_head: bool = False) -> dict[str, Any]:
    """The page's document of a translation, with `steps`, `beam` and `translation`.

    With a given target there is no search and no `beam`. Raises `UserError` for a blank text, a text that is too long,
    an ensemble, a direction that the model does not have, and unknown heads.
    """
    asked = _asked(translator, question)
    model, target, tree = translator.model, question.target, None
    with probe(model, asked.intervention):
        if target is None:
            hypotheses, tree = beam_tree(model, asked.tokenizers.target, asked.request)
            target = hypotheses[0].ids
        seen = _map(translator, question, asked, target)
        steps = decoding_steps(model, asked.tokenizers.target, model.batch([asked.source], [target]), target)
    needed = _needed(translator, asked, seen, target)
    document = page_document(seen, every_head=every_head, needed=needed, off=question.off, roles=translator.head_roles)
    if needed is not None:
        document["alignment"] = [list(tokens) for tokens in needed]
    document["steps"] = steps
    document["translation"] = {
        "text": seen.target_text,
        "ids": list(target),
        "log_probability": sum(step["chosen"]["log_probability"] for step in steps),
        "prefix": list(asked.request.prefix),
        "off": {name: list(heads) for name, heads in question.off.items()},
        "temperature": {
            name: {str(head): value for head, value in given.items()} for name, given in question.temperature.items()
        },
    }
    return document if tree is None else document | {"beam": tree}


def explained_page(translator: Translator, question: Question, *, theme: str = "dark") -> str:
    """The explanation as one HTML file that works without a server: with every head, and the computations of the head
    that aligns best. Raises `UserError` as `explain` does."""
    require_theme(theme)
    return standalone_page(explain_whole(translator, question), theme=theme)


def explain_whole(translator: Translator, question: Question) -> dict[str, Any]:
    """The document of such a file."""
    document = explain(translator, question, every_head=True)
    given = replace(question, target=document["translation"]["ids"])
    document["measures"], document["layers"] = measured(translator, given), layers_of(translator, given)
    document["map"] = map_of(translator, given)
    cross = next((kind for kind in document["kinds"] if kind["name"] == "cross"), None)
    if cross is not None:
        heads = ((layer, head) for layer in range(cross["layers"]) for head in range(cross["heads"]))

        def alignment(place: tuple[int, int]) -> tuple[bool, float]:
            role = cross["descriptions"][place[0]][place[1]]
            return role["role"] == "aligns", role["value"]

        layer, head = max(heads, key=alignment)
        document["look_ups"] = {
            f"cross/{layer}/{head}/{row}": look_up_in(translator, given, "cross", layer, head, row)
            for row in range(len(document["steps"]))
        }
        first, *others = document["look_ups"].values()
        for name in ("keys", "values"):  # those of the source, whatever the row
            for each in others:
                if each[name] == first[name]:
                    del each[name]
    return document


def _needed(translator: Translator, asked: Asked, seen: AttentionMap, target: Sequence[int]) -> Needed | None:
    """The source tokens that each target token needs: those of the word with which the model's alignment heads link it,
    or, without such heads, those found by erasure. None for a long sentence."""
    source, own = asked.source, words_of(asked.tokenizers.source, asked.source)
    count = max(seen.source_words, default=0)
    if not seen.cross.size:
        return None
    if translator.alignment_heads:
        pair = TokenizedPair(source, target, own, [[token] for token in range(len(target))], (count, len(target)))
        linked = best_sources(between_words(seen.cross.astype(np.float64), pair), translator.alignment_heads)
        return [*([token for token, words in enumerate(own) if word in words] for word in linked), []]
    if count * (len(target) + 1) > MAX_ERASED:
        return None
    return needed_words(translator.model, Rows(source, target, own, count))


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[list[int]]:
    """The word of each token, none for a tag: tags are no words of a text."""
    named = zip(tokenizer.pieces(ids), tokenizer.word_of(ids), strict=True)
    return [[] if is_control(piece) else [word] for piece, word in named]


def measured(translator: Translator, question: Question) -> dict[str, Any]:
    """What weights do not say, as values for JSON: `erasure`, `contributions` and `shares`.

    The question has to have a target. `erasure` is (target tokens, source words), log p(token) minus the same without
    the word (`inspection.erasure`); it is missing for a long sentence. `contributions` and `shares` are those of
    Transformers (`inspection.contributions`). Raises `UserError` as `explain` does.
    """
    asked, target, found = _asked(translator, question), question.target or (), dict[str, Any]()
    count = len(set(asked.tokenizers.source.word_of(asked.source)))
    if count * (len(target) + 1) <= MAX_MEASURED:
        rows = Rows(asked.source, target, words_of(asked.tokenizers.source, asked.source), count)
        with probe(translator.model, asked.intervention):
            found["erasure"] = packed(erasures(translator.model, rows).T)
    if has_parts(translator.model):
        parts = forward_pass(translator.model, asked.source, target, intervention=asked.intervention)
        found["contributions"] = {
            kind: {"norms": packed(each.norms), "mean": packed(mean_share(each.layers))}
            for kind, each in of_parts(parts).items()
        }
        found["shares"] = {name: packed(each) for name, each in followed(parts)._asdict().items()}
    return found


def mean_share(layers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(rows, columns): each row as shares, the mean over the layers; zero where a layer contributes nothing."""
    sums = layers.sum(axis=-1, keepdims=True)
    found: npt.NDArray[np.float32] = np.divide(layers, sums, out=np.zeros_like(layers), where=sums > 0).mean(axis=0)
    return found


def layers_of(translator: Translator, question: Question) -> dict[str, Any]:
    """What can be read from each layer (`inspection.layers`), as values for JSON; empty for other models than
    Transformers. The question has to have a target. Raises `UserError` as `explain` does."""
    asked, target, model = _asked(translator, question), question.target or (), translator.model
    if not isinstance(model, Transformer):
        return {}
    own = asked.tokenizers.target
    # Lower layers often repeat a word without end: the rest of that would take most of the time.
    length = min(asked.request.settings.max_length(len(asked.source)), len(target) + 5)
    read = encoder_lens(model, asked.source, max_length=length, intervention=asked.intervention)
    predicted = decoder_lens(model, asked.source, target, intervention=asked.intervention)
    return {
        "encoder": [
            {"text": own.decode(each.ids), "log_probability": each.log_probability, "finished": each.finished}
            for each in read
        ],
        "decoder": [
            [
                candidate(own, each.best, math.log(each.best_probability), end=model.end_id)
                | {"chosen": each.probability}
                for each in row
            ]
            for row in predicted
        ],
    }


def head_weights(translator: Translator, question: Question, kind: str, layer: int, head: int) -> dict[str, Any]:
    """The weights of one head in float32. The question has to have a target. Raises `UserError` as `explain` does."""
    asked = _asked(translator, question)
    with probe(translator.model, asked.intervention):
        seen = _map(translator, question, asked, question.target or ())
    return packed(seen.average(kind, layer=layer, heads=head))


def look_up_in(
    translator: Translator, question: Question, kind: str, layer: int, head: int, row: int
) -> dict[str, Any]:
    """The numbers of one attention computation, see `inspection.look_up`. The question has to have a target."""
    asked = _asked(translator, question)
    target, change = question.target or (), asked.intervention
    return look_up(
        translator.model, asked.source, target, kind=kind, layer=layer, head=head, row=row, intervention=change
    )


def map_of(translator: Translator, question: Question) -> dict[str, Any]:
    """The map of the model, see `inspection.model_map`. The question has to have a target."""
    asked = _asked(translator, question)
    return model_map(translator.model, asked.pair(translator, question), asked.intervention)


def inside_of(translator: Translator, question: Question, side: str, layer: int, place: int) -> dict[str, Any]:
    """One layer at one position, see `inspection.model_map`; tokens that are raised have their text."""
    asked = _asked(translator, question)
    found = inside(translator.model, asked.pair(translator, question), side, layer, place, asked.intervention)
    own, end = asked.tokenizers.target, translator.model.end_id
    return found | {
        "raised": [
            {"text": candidate(own, token, 0.0, end=end)["text"], "value": value}
            for token, value in found.get("raised", ())
        ]
    }


def distribution(translator: Translator, question: Question, row: int) -> dict[str, Any]:
    """The log-probabilities of all tokens at a target position. The question has to have a target."""
    asked, model = _asked(translator, question), translator.model
    with eval_mode(model) as device, probe(model, asked.intervention):
        features = model(asked.pair(translator, question).to(device))[0]
        if not 0 <= row < len(features):
            raise UserError(f"there is no step {row}: there are {len(features)}, they count from 0")
        return packed(model.project(features[row]).float().log_softmax(dim=-1).cpu().numpy())


def intervention_of(translator: Translator, question: Question) -> Intervention:
    """Switched-off heads and temperatures. Raises `UserError` for an unknown attention or
    head, and for a temperature out of bounds."""
    counts = head_counts(translator.model)

    def factors(name: str, given: Mapping[int, float]) -> torch.Tensor:
        if name not in counts:
            raise UserError(f"unknown attention {name!r}; the model has {', '.join(counts) or 'none'}")
        made = torch.ones(counts[name], device=translator.device)
        for head, value in given.items():
            if not 0 <= int(head) < counts[name]:
                raise UserError(f"there is no head {head} of {name}: there are {counts[name]}, they count from 0")
            made[int(head)] = value
        return made

    for value in (value for given in question.temperature.values() for value in given.values()):
        if not MIN_TEMPERATURE <= value <= MAX_TEMPERATURE:
            raise UserError(f"a temperature must be from {MIN_TEMPERATURE} to {MAX_TEMPERATURE}, not {value}")
    return Intervention(
        {name: factors(name, dict.fromkeys(heads, 0.0)) for name, heads in question.off.items()},
        {name: factors(name, given) for name, given in question.temperature.items()},
    )


def _asked(translator: Translator, question: Question) -> Asked:
    source, target = question.source_lang, question.target_lang
    (prepared,) = translator.prepare(
        [question.text], source_lang=source, target_lang=target, beam_size=question.beam_size
    )
    if prepared.request is None:
        raise UserError("the text is blank: there is nothing to attend to; give a sentence")
    tokenizers = translator.towards(Direction(source, target))
    prefix = (*question.prefix, *_forced(tokenizers.target, question.forced))
    tokens = max(len(prepared.request.source), len(question.target or ()), len(prefix))
    if tokens > MAX_TOKENS:
        raise UserError(f"the sentence has {tokens} tokens, and at most {MAX_TOKENS} are explained: give a shorter one")
    for token in question.target or ():
        if not 0 <= token < translator.model.output_size or token == translator.model.end_id:
            raise UserError(f"the target has the id {token}, which is not a target token of this model")
    # All tokens are scored, without a shortlist: tokens outside it would seem impossible on the page.
    request = replace(prepared.request, prefix=prefix, shortlist=None)
    return Asked(tokenizers, request, intervention_of(translator, question))


def _forced(tokenizer: Tokenizer, text: str) -> list[int]:
    """The tokens of a forced text. Raises `UserError` where the vocabulary lacks a character."""
    ids = tokenizer.encode(text) if text.strip() else []
    if UNKNOWN in ids:
        raise UserError(f"{text!r} has characters that are not in the target vocabulary: force other words")
    return ids


def _map(translator: Translator, question: Question, asked: Asked, target: Sequence[int]) -> AttentionMap:
    seen = attention_map(translator.model, asked.tokenizers, question.text, target, source_ids=asked.source)
    return replace(seen, model=translator.name)


def _explain_heads(translator: Translator, question: Question) -> dict[str, Any]:
    document = explain(translator, question, every_head=True)
    document.pop("beam", None)  # it is as large as the weights, and only the main translation shows it
    return document


def _patch(translator: Translator, question: Question, other: str) -> dict[str, Any]:
    source, target = question.source_lang or None, question.target_lang or None
    return patch_texts(translator, question.text, other, source_lang=source, target_lang=target).values()


ANSWERS: dict[str, Callable[..., Any]] = {
    "explain": explain,
    "explain_whole": explain_whole,
    "explain_heads": _explain_heads,
    "head_weights": head_weights,
    "look_up": look_up_in,
    "measures": measured,
    "patch": _patch,
    "layers": layers_of,
    "map": map_of,
    "inside": inside_of,
    "distribution": distribution,
}
"""Explanations that a service offers, by name."""

_ASKED = {each.name for each in fields(Question)}
_FURTHER = ("kind", "side", "layer", "head", "row", "place", "other")


def answer(name: str, translator: Translator, text: str, options: Mapping[str, Any]) -> Any:
    """An explanation, with the fields of the question and the further arguments from the JSON of a request."""
    question = Question(text, **{key: value for key, value in options.items() if key in _ASKED})
    return ANSWERS[name](translator, question, **{key: options[key] for key in _FURTHER if key in options})
