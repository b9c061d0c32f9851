"""Explanations of a translation for the page: weights, decoding steps, beam search, attention computations.

Every result is a pure function of the translator and the question (text, direction, tokens, switched-off heads), so a
server needs no state between two requests. The functions for a service (`ANSWERS`) cache the weights of the translation
that each model explained last, so that its heads can be shown without another computation.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch

from limelight.config import Direction
from limelight.decoding.request import Request, SearchOptions
from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.beam_tree import beam_tree
from limelight.inspection.contributions import followed, of_parts
from limelight.inspection.erasure import Rows, erasures, needed_words
from limelight.inspection.forward_pass import forward_pass
from limelight.inspection.head_roles import Needed
from limelight.inspection.heads import head_counts
from limelight.inspection.layers import predictions_after, translations_after
from limelight.inspection.look_up import candidate, decoding_steps, look_up
from limelight.inspection.maps import attention_map
from limelight.inspection.page_data import packed, page_document
from limelight.inspection.probe import Intervention, probe
from limelight.inspection.standalone import require_theme, standalone_page
from limelight.inspection.word_alignment import TokenizedPair, best_sources, between_words
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
    prefix: tuple[int, ...] = ()
    """Forced first target tokens of the translation."""
    forced: str = ""
    """Text that the translation goes on with after `prefix`."""
    target: tuple[int, ...] | None = None
    """The target tokens; None for the model's own translation."""
    off: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Switched-off heads, by the name of their attention."""
    temperature: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Temperatures of the softmax of single heads, by the name of their attention: below 1 sharper, above 1 flatter."""


def explain(translator: Translator, question: Question, *, every_head: bool = False) -> dict[str, Any]:
    """The page's document of a translation, with `steps`, `beam` and `translation`.

    With a given target there is no search and no `beam`. Raises `UserError` for a blank text, a text that is too long,
    an ensemble, a direction that the model does not have, and unknown heads.
    """
    return _explained(translator, question, every_head=every_head)[0]


def _explained(
    translator: Translator, question: Question, *, every_head: bool = False
) -> tuple[dict[str, Any], AttentionMap]:
    """The document, and the weights that it was made from."""
    tokenizers, request = _asked(translator, question)
    tree, target, source = None, question.target, request.source[:-1]
    with probe(translator.model, intervention_of(translator, question)):
        if target is None:
            hypotheses, tree = beam_tree(translator.model, tokenizers.target, request)
            target = hypotheses[0].ids
        seen = _map(translator, tokenizers, question.text, source, target)
        steps = decoding_steps(translator.model, tokenizers.target, source, target)
    needed = _needed(translator, seen, target, source, words_of(tokenizers.source, source))
    document = page_document(seen, every_head=every_head, needed=needed, off=question.off, roles=translator.head_roles)
    if needed is not None:
        document["alignment"] = [list(tokens) for tokens in needed]
    document["steps"] = steps
    document["translation"] = {
        "text": seen.target_text,
        "ids": list(target),
        "log_probability": sum(step["chosen"]["log_probability"] for step in document["steps"]),
        "prefix": list(request.prefix),
        "off": {name: list(heads) for name, heads in question.off.items()},
        "temperature": {
            name: {str(head): value for head, value in given.items()} for name, given in question.temperature.items()
        },
    }
    if tree is not None:
        document["beam"] = tree
    return document, seen


def explained_page(translator: Translator, question: Question, *, theme: str = "dark") -> str:
    """The explanation as one HTML file that works without a server: with every head, and the computations of the head
    that aligns best. Raises `UserError` as `explain` does."""
    require_theme(theme)
    return standalone_page(explain_whole(translator, question), theme=theme)


def explain_whole(translator: Translator, question: Question) -> dict[str, Any]:
    """The document of such a file."""
    document = explain(translator, question, every_head=True)
    given = replace(question, target=tuple(document["translation"]["ids"]))
    document["measures"], document["layers"] = measured(translator, given), layers_of(translator, given)
    cross = next((kind for kind in document["kinds"] if kind["name"] == "cross"), None)
    if cross is not None:
        described = [
            (each["role"] == "aligns", each["value"], layer, head)
            for layer, heads in enumerate(cross["descriptions"])
            for head, each in enumerate(heads)
        ]
        *_, layer, head = max(described, key=lambda each: (each[:2], -each[2], -each[3]))
        document["look_ups"] = {
            f"cross/{layer}/{head}/{row}": look_up_in(translator, given, "cross", layer, head, row)
            for row in range(len(document["steps"]))
        }
        first, *others = document["look_ups"].values()
        for each in others:  # keys and values are those of the source, whatever the row
            for name in ("keys", "values"):
                if each[name] == first[name]:
                    del each[name]
    return document


def _needed(
    translator: Translator,
    seen: AttentionMap,
    target: Sequence[int],
    source: Sequence[int],
    own: Sequence[Sequence[int]],
) -> Needed | None:
    """The source tokens that each target token needs: those of the word with which the model's alignment heads link it,
    or, without such heads, those found by erasure. None for a long sentence. `own` is the word of each source token."""
    count = max(seen.source_words, default=0)
    if not seen.cross.size:
        return None
    if translator.alignment_heads:
        each = [[token] for token in range(len(target))]
        pair = TokenizedPair(source, target, own, each, (count, len(target)))
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
    tokenizers, request = _asked(translator, question)
    source, target = request.source[:-1], question.target or ()
    intervention, found = intervention_of(translator, question), dict[str, Any]()
    count = len(set(tokenizers.source.word_of(source)))
    if count * (len(target) + 1) <= MAX_MEASURED:
        rows = Rows(source, target, words_of(tokenizers.source, source), count)
        with probe(translator.model, intervention):
            found["erasure"] = packed(erasures(translator.model, rows).T)
    if isinstance(translator.model, Transformer):
        parts = forward_pass(translator.model, source, target, intervention=intervention).parts
        found["contributions"] = {
            kind: {"norms": packed(each.norms), "mean": packed(mean_share(each.layers))}
            for kind, each in of_parts(parts).items()
        }
        shares = followed(parts)
        found["shares"] = {"source": packed(shares.source), "prefix": packed(shares.prefix)}
    return found


def mean_share(layers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """(rows, columns): each row as shares, the mean over the layers; zero where a layer contributes nothing."""
    sums = layers.sum(axis=-1, keepdims=True)
    found: npt.NDArray[np.float32] = np.divide(layers, sums, out=np.zeros_like(layers), where=sums > 0).mean(axis=0)
    return found


def layers_of(translator: Translator, question: Question) -> dict[str, Any]:
    """What can be read from each layer (`inspection.layers`), as values for JSON; empty for other models than
    Transformers. The question has to have a target. Raises `UserError` as `explain` does."""
    tokenizers, request = _asked(translator, question)
    model = translator.model
    if not isinstance(model, Transformer):
        return {}
    source, target = request.source[:-1], question.target or ()
    # Lower layers often repeat a word without end: the rest of that would take most of the time.
    length = min(request.settings.max_length(len(source)), len(target) + 5)
    with probe(model, intervention_of(translator, question)):
        found = forward_pass(model, source, target)
        (read,) = translations_after(model, [found.encoder], [length])
    encoder = [
        {"text": tokenizers.target.decode(each.ids), "log_probability": each.log_probability, "finished": each.finished}
        for each in read
    ]
    (predicted,) = predictions_after(model, [found.decoder], [target])
    decoder = [
        [
            candidate(tokenizers.target, each.best, math.log(each.best_probability), end=model.end_id)
            | {"chosen": each.probability}
            for each in row
        ]
        for row in predicted
    ]
    return {"encoder": encoder, "decoder": decoder}


def head_weights(translator: Translator, question: Question, kind: str, layer: int, head: int) -> dict[str, Any]:
    """The weights of one head in float32. The question has to have a target. Raises `UserError` as `explain` does."""
    return packed(_seen(translator, question).average(kind, layer=layer, heads=head))


def _seen(translator: Translator, question: Question) -> AttentionMap:
    """The weights of a question that has a target."""
    tokenizers, request = _asked(translator, question)
    with probe(translator.model, intervention_of(translator, question)):
        return _map(translator, tokenizers, question.text, request.source[:-1], question.target or ())


def look_up_in(
    translator: Translator, question: Question, kind: str, layer: int, head: int, row: int
) -> dict[str, Any]:
    """The numbers of one attention computation, see `inspection.look_up`. The question has to have a target."""
    _, request = _asked(translator, question)
    return look_up(
        translator.model,
        request.source[:-1],
        question.target or (),
        kind=kind,
        layer=layer,
        head=head,
        row=row,
        intervention=intervention_of(translator, question),
    )


def intervention_of(translator: Translator, question: Question) -> Intervention:
    """Switched-off heads and temperatures. Raises `UserError` for an unknown attention or
    head, and for a temperature out of bounds."""
    counts = head_counts(translator.model)
    keep: dict[str, torch.Tensor] = {}
    temperature: dict[str, torch.Tensor] = {}
    for name, heads in question.off.items():
        keep[name] = _ones(translator, counts, name, heads)
        keep[name][list(heads)] = 0.0
    for name, given in question.temperature.items():
        temperature[name] = _ones(translator, counts, name, list(given))
        for head, value in given.items():
            if not MIN_TEMPERATURE <= value <= MAX_TEMPERATURE:
                raise UserError(f"a temperature must be from {MIN_TEMPERATURE} to {MAX_TEMPERATURE}, not {value}")
            temperature[name][head] = value
    return Intervention(keep, temperature)


def _ones(translator: Translator, counts: Mapping[str, int], name: str, heads: Sequence[int]) -> torch.Tensor:
    """A tensor of ones, one for each head of this attention. Raises `UserError` for unknown `heads`."""
    if name not in counts:
        raise UserError(f"unknown attention {name!r}; the model has {', '.join(counts) or 'none'}")
    for head in heads:
        if not 0 <= head < counts[name]:
            raise UserError(f"there is no head {head} of {name}: there are {counts[name]}, they count from 0")
    return torch.ones(counts[name], device=translator.device)


def _asked(translator: Translator, question: Question) -> tuple[Tokenizers, Request]:
    """The tokenizers of the direction, and the request to an engine."""
    options: SearchOptions = {"beam_size": question.beam_size}
    (prepared,) = translator.prepare(
        [question.text], source_lang=question.source_lang, target_lang=question.target_lang, **options
    )
    if prepared.request is None:
        raise UserError("the text is blank: there is nothing to attend to; give a sentence")
    tokenizers = translator.towards(Direction(question.source_lang, question.target_lang))
    prefix = (*question.prefix, *_forced(tokenizers.target, question.forced))
    tokens = max(len(prepared.request.source), len(question.target or ()), len(prefix))
    if tokens > MAX_TOKENS:
        raise UserError(f"the sentence has {tokens} tokens, and at most {MAX_TOKENS} are explained: give a shorter one")
    # All tokens are scored, without a shortlist: tokens outside it would seem impossible on the page.
    request = replace(prepared.request, prefix=prefix, shortlist=None)
    for token in question.target or ():
        if not 0 <= token < translator.model.output_size or token == translator.model.end_id:
            raise UserError(f"the target has the id {token}, which is not a target token of this model")
    return tokenizers, request


def _forced(tokenizer: Tokenizer, text: str) -> list[int]:
    """The tokens of a forced text. Raises `UserError` where the vocabulary lacks a character."""
    ids = tokenizer.encode(text) if text.strip() else []
    if UNKNOWN in ids:
        raise UserError(f"{text!r} has characters that are not in the target vocabulary: force other words")
    return ids


def _map(
    translator: Translator,
    tokenizers: Tokenizers,
    text: str,
    source: Sequence[int],
    target: Sequence[int],
) -> AttentionMap:
    seen = attention_map(translator.model, tokenizers, text, target, source_ids=source)
    return replace(seen, model=translator.name)


_LAST: WeakKeyDictionary[torch.nn.Module, tuple[Question, AttentionMap]] = WeakKeyDictionary()
"""The last translation that a service had explained by each model, and its weights: at most some tens of MB."""


def _explain(translator: Translator, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    question = _question(text, options)
    document, seen = _explained(translator, question)
    _LAST[translator.model] = (_looked(question, document["translation"]["ids"]), seen)
    return document


def _looked(question: Question, target: Sequence[int]) -> Question:
    """What weights depend on: how the target was found is no part of it."""
    return replace(question, target=tuple(target), prefix=(), forced="", beam_size=None)


def _explain_whole(translator: Translator, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    return explain_whole(translator, _question(text, options))


def _explain_heads(translator: Translator, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    document = explain(translator, _question(text, options), every_head=True)
    document.pop("beam", None)  # it is as large as the weights, and only the main translation shows it
    return document


def _head_weights(translator: Translator, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    question, place = _question(text, options), (options["kind"], options["layer"], options["head"])
    asked, seen = _LAST.get(translator.model, (None, None))
    if seen is not None and asked == _looked(question, question.target or ()):
        kind, layer, head = place
        return packed(seen.average(kind, layer=layer, heads=head))
    return head_weights(translator, question, *place)


def _look_up(translator: Translator, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    place = (options["kind"], options["layer"], options["head"], options["row"])
    return look_up_in(translator, _question(text, options), *place)


def _patch(translator: Translator, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    languages = {name: options[name] or None for name in ("source_lang", "target_lang")}
    return patch_texts(translator, text, options["other"], **languages).values()


def _question(text: str, options: Mapping[str, Any]) -> Question:
    """The question from the JSON of a service's request."""
    target = options.get("target")
    return Question(
        text,
        options["source_lang"],
        options["target_lang"],
        beam_size=options.get("beam_size"),
        prefix=tuple(options.get("prefix", ())),
        forced=options.get("forced", ""),
        target=None if target is None else tuple(target),
        off=options.get("off", {}),
        temperature={
            name: {int(head): value for head, value in given.items()}
            for name, given in options.get("temperature", {}).items()
        },
    )


ANSWERS: dict[str, Callable[[Translator, str, Mapping[str, Any]], Any]] = {
    "explain": _explain,
    "explain_whole": _explain_whole,
    "explain_heads": _explain_heads,
    "head_weights": _head_weights,
    "look_up": _look_up,
    "measures": lambda translator, text, options: measured(translator, _question(text, options)),
    "patch": _patch,
    "layers": lambda translator, text, options: layers_of(translator, _question(text, options)),
}
"""Explanations that a service offers, by name."""
