"""Explanations of a single text for the page: a text continued by a language model, or with filled masks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from limelight.batching.batch import begun, label_batch, make_blocks
from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.look_up import decoding_steps
from limelight.inspection.model_map import model_map
from limelight.inspection.page_data import JsonObject, packed, page_document
from limelight.pipelines.encoders import MaskFiller
from limelight.pipelines.explain import MAX_TOKENS
from limelight.pipelines.generator import Generated, TextGenerator
from limelight.tokens.text import encode_text

GUESSES = 8


def explain_written(generator: TextGenerator, generated: Generated) -> JsonObject:
    """The page's document of a prompt and its continuation, with `steps` and `written`.

    The weights are `generator.attention(prompt + text)`. Raises `UserError` for a text that is too long.
    """
    full_text = generated.prompt + generated.text
    document = page_document(text_attention(generator, full_text))
    tokenizer = generator.tokenizers.target
    model, ids = generator.model, encode_text(tokenizer, full_text)
    batch = make_blocks(np.array([[model.start_id, *ids, model.end_id]]))
    document["steps"], document["map"] = decoding_steps(model, tokenizer, batch, ids), model_map(model, batch)
    document["written"] = {
        "prompt": generated.prompt,
        "text": generated.text,
        "log_probability": generated.log_probability,
        "ended_by": generated.ended_by,
    }
    return document


def explain_filled(filler: MaskFiller, text: str) -> JsonObject:
    """The page's document of a text with masks, with `filled`: the completed text, and the predictions for each mask.

    The weights are `filler.attention(text)`; a text without a mask has no `filled`. Raises `UserError` for a
    text that is too long.
    """
    document = page_document(text_attention(filler, text))
    ids = filler.tokenizer.encode(text)
    document["map"] = model_map(filler.model, label_batch([begun(ids)], [0], padding=filler.tokenizer.padding))
    if filler.mask in ids:
        filled = filler.fill(text, top=GUESSES)
        masks = [[{"text": guess.text, "probability": guess.probability} for guess in mask] for mask in filled.masks]
        document["filled"] = {"text": filled.text, "masks": masks}
    return document


def text_head(pipeline: TextGenerator | MaskFiller, text: str, options: Mapping[str, Any]) -> JsonObject:
    """The weights of one head (`kind`, `layer`, `head`) in float32."""
    seen = text_attention(pipeline, text)
    return packed(seen.average(options["kind"], layer=options["layer"], heads=options["head"]))


def text_attention(pipeline: TextGenerator | MaskFiller, text: str) -> AttentionMap:
    """`pipeline.attention(text)`. Also raises `UserError` for a text of more than `MAX_TOKENS` tokens."""
    if isinstance(pipeline, TextGenerator):
        ids = encode_text(pipeline.tokenizers.target, text)
    else:
        ids = pipeline.tokenizer.encode(text)
    if len(ids) > MAX_TOKENS:
        raise UserError(f"the text has {len(ids)} tokens, and at most {MAX_TOKENS} are explained: give a shorter one")
    return pipeline.attention(text)
