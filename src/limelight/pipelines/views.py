"""Views of a translation other than its attention weights: what the weights do, and what the layers know."""

from collections.abc import Sequence

import numpy as np

from limelight.errors import UserError
from limelight.inspection.contributions import followed, of_parts
from limelight.inspection.erasure import Rows, erasures
from limelight.inspection.forward_pass import forward_pass
from limelight.inspection.heatmap import Panel
from limelight.inspection.layers import decoder_lens, encoder_lens
from limelight.inspection.maps import attention_map
from limelight.inspection.views import View
from limelight.inspection.words import group_pieces
from limelight.pipelines.explain import mean_share, words_of
from limelight.pipelines.patch import layer_names
from limelight.pipelines.translator import Translator

MEASURES = ("contributions", "shares", "erasure", "layers")


def view_of(
    translator: Translator,
    measure: str,
    text: str,
    target: str | None = None,
    *,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> View:
    """One of `MEASURES` of a text and the model's own translation, or a given `target`.

    `contributions`: the share of each position in what attention adds, the mean over layers, for each kind of
    attention. `shares`: how much of each target token comes from each source token, and from each token before it.
    `erasure`: the part of the probability of each target token that is lost without a source word, 1 - p' / p.
    `layers`: the probability of each target token after each decoder layer; in the JSON also the translations after
    each encoder layer. Raises `UserError` for another name, and as `Translator.attention` does.
    """
    if measure not in MEASURES:
        raise UserError(f"unknown measure {measure!r}; choose from {', '.join(MEASURES)}")
    tokenizers, source_ids, target_ids = translator.inspected(
        text, target, source_lang=source_lang, target_lang=target_lang
    )
    model = translator.model
    seen = attention_map(model, tokenizers, text, target_ids, source_ids=source_ids)
    title = f"{measure}: {text} → {seen.target_text}"
    read, predicted, source = seen.read_pieces, seen.target_pieces, seen.source_pieces
    if measure == "erasure":
        labels = group_pieces(source, seen.source_words)[:-1]
        drops = erasures(model, Rows(source_ids, target_ids, words_of(tokenizers.source, source_ids), len(labels)))
        return View(measure, title, [Panel("source", 1 - np.exp(-drops.T), predicted[:-1], labels)])
    if measure == "layers":
        return _layers(translator, source_ids, target_ids, title, predicted)
    parts = forward_pass(model, source_ids, target_ids)
    if measure == "shares":
        shares = followed(parts)
        panels = [Panel("source", shares.source, predicted, source), Panel("prefix", shares.prefix, predicted, read)]
        return View(measure, title, panels)
    panels = [Panel(kind, mean_share(each.layers), *seen.labels(kind)) for kind, each in of_parts(parts).items()]
    return View(measure, title, panels)


def _layers(
    translator: Translator, source: Sequence[int], target: Sequence[int], title: str, predicted: Sequence[str]
) -> View:
    found = decoder_lens(translator.model, source, target)
    values = np.array([[each.probability for each in row] for row in found])
    panel = Panel("decoder", values, layer_names(len(values)), predicted)
    read = encoder_lens(translator.model, source, max_length=2 * len(source) + 20)
    decode = translator.tokenizers.target.decode
    return View("layers", title, [panel], {"encoder": [decode(each.ids) for each in read]})
