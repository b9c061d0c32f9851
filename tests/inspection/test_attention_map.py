import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.config import DecoderOnlyConfig, RecurrentConfig, TransformerConfig
from limelight.errors import UserError
from limelight.inspection import AttentionMap, attention_map, text_map
from limelight.inspection.attention_map import KINDS
from limelight.models.families import build_model
from limelight.tokens import Tokenizers
from tests.inspection.fakes import LETTERS, random_map

SEEDS = st.integers(0, 2**32 - 1)
TEXTS = st.text("abc .", min_size=0, max_size=11)
SMALL_TRANSFORMER = TransformerConfig(
    encoder_layers=2, decoder_layers=3, d_model=12, heads=2, d_ff=20, dropout=0.3, tie="two-way"
)
WRITER = DecoderOnlyConfig(layers=3, d_model=12, heads=2, d_ff=20, dropout=0.3)
ONE_VOCABULARY = Tokenizers(LETTERS.target, LETTERS.target)


def row_sums(attention):
    return np.concatenate([getattr(attention, kind).sum(axis=-1).ravel() for kind in KINDS])


# --- words


@given(seed=SEEDS, source=TEXTS, target=TEXTS)
def test_merged_weights_are_sums_to_a_word_and_means_from_a_word(seed, source, target):
    attention = random_map(seed, source=source, target=target)
    merged = attention.merge_words()
    sides = {
        "encoder_self": (attention.source_words, attention.source_words),
        "decoder_self": (attention.read_words, attention.read_words),
        "cross": (attention.target_words, attention.source_words),
    }
    for kind, (row_words, column_words) in sides.items():
        pieces, words = getattr(attention, kind).astype(np.float64), getattr(merged, kind)
        for row in range(words.shape[2]):
            for column in range(words.shape[3]):
                rows = [place for place, word in enumerate(row_words) if word == row]
                columns = [place for place, word in enumerate(column_words) if word == column]
                expected = sum(pieces[:, :, r, c] for r in rows for c in columns) / len(rows)
                np.testing.assert_allclose(words[:, :, row, column], expected, atol=1e-6)


# --- reductions


@pytest.mark.parametrize("kind", KINDS)
def test_average_is_the_mean_over_the_chosen_layers_and_heads(seed, kind):
    attention = random_map(seed)
    weights = getattr(attention, kind).astype(np.float64)
    np.testing.assert_allclose(attention.average(kind), weights.mean(axis=(0, 1)), atol=1e-6)
    np.testing.assert_allclose(attention.average(kind, layer=np.int64(0)), weights[0].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(attention.average(kind, heads=1), weights[:, 1].mean(axis=0), atol=1e-6)
    for heads in ([0, 1], np.arange(2)):
        mean = attention.average(kind, layer=-1, heads=heads)
        np.testing.assert_allclose(mean, weights[-1, :2].mean(axis=0), atol=1e-6)
        assert "layer 0, mean of heads 0, 1" in attention.title(kind, layer=np.int64(0), heads=heads)
    np.testing.assert_allclose(attention.average(kind).sum(axis=-1), 1, atol=1e-5)


def test_alignment_is_the_arg_max_word(seed):
    attention = random_map(seed)
    merged = attention.merge_words()
    links = attention.alignment(layer=1)
    assert [link.target for link in links] == list(range(len(merged.target_pieces)))
    weights = merged.average("cross", layer=1)
    for link in links:
        assert link.weight == weights[link.target].max() == weights[link.target, link.source]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "sideways"}, "no attention of the kind sideways; it has cross"),
        ({"kind": "encoder_self"}, "no attention of the kind encoder_self; it has cross"),
        ({"kind": "cross", "layer": 3}, "no layer 3: the model has 3, they count from 0 to 2"),
        ({"kind": "cross", "layer": -4}, "no layer -4"),
        ({"kind": "cross", "heads": [0, 2]}, "no head 2: the model has 2, they count from 0 to 1"),
        ({"kind": "cross", "heads": []}, "no head is chosen: name at least one from 0 to 1"),
    ],
)
def test_a_choice_that_is_not_there_is_named(seed, arguments, message):
    attention = random_map(seed, encoder=(0, 0), decoder=(0, 0))
    kind = arguments.pop("kind")
    with pytest.raises(UserError, match=message):
        attention.average(kind, **arguments)


# --- JSON


@given(seed=SEEDS, source=TEXTS, target=TEXTS, empty=st.booleans())
def test_json_comes_back_with_six_digits(seed, source, target, empty):
    sizes = {"encoder": (0, 0), "decoder": (0, 0)} if empty else {}
    attention = random_map(seed, source=source, target=target, **sizes)
    again = AttentionMap.from_json(attention.to_json())
    for name, value in vars(attention).items():
        if name in KINDS:
            assert getattr(again, name).dtype == np.float32
            np.testing.assert_allclose(getattr(again, name), value, atol=5.1e-7)
        else:
            assert getattr(again, name) == value
    assert again.to_json() == attention.to_json()


def test_maps_of_earlier_versions_have_no_texts(seed):
    attention = replace(random_map(seed), source_text="ab", target_text="gh", model="runs/x")
    values = json.loads(attention.to_json())
    assert (values["format"], values["version"]) == ("limelight.attention", 1)
    for name in ("source_text", "target_text", "model"):
        del values[name]
    older = AttentionMap.from_json(json.dumps(values))
    assert (older.source_text, older.target_text, older.model) == ("", "", "")
    np.testing.assert_array_equal(older.cross, AttentionMap.from_json(attention.to_json()).cross)


def test_printed_it_is_one_short_line(seed):
    attention = replace(random_map(seed), source_text="word " * 300, target_text="a\nb")
    assert str(attention) == repr(attention)
    assert len(str(attention)) < 200
    assert "\n" not in str(attention)
    assert str(attention).startswith("<AttentionMap 'word word")
    assert "encoder_self 2x3x9x9, decoder_self 1x3x10x10, cross 3x2x10x9>" in str(attention)
    nothing = random_map(seed, encoder=(0, 0), decoder=(0, 0), cross=(0, 0))
    assert str(nothing) == "<AttentionMap: no attention>"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda values: "not json", "Expecting value"),
        (lambda values: [values], "TypeError"),
        (lambda values: {**values, "version": 2}, 'it has no "format": "limelight.attention", "version": 1'),
        (lambda values: {key: value for key, value in values.items() if key != "unit"}, "KeyError: 'unit'"),
        (lambda values: {**values, "cross": [[[[1.0]]]]}, r"cross is \(1, 1, 1, 1\)"),
        (lambda values: {**values, "cross": [[[[1.0], [1.0, 2.0]]]]}, "ValueError"),
        (lambda values: {**values, "source_pieces": 7}, "TypeError"),
        (lambda values: {**values, "source_pieces": [7] * len(values["source_pieces"])}, "expected str"),
        (lambda values: {**values, "model": None}, "expected str"),
        (
            lambda values: {**values, "read_words": values["read_words"][::-1]},
            "read_words must name one word .* in order",
        ),
    ],
)
def test_json_that_is_no_map_is_named(seed, change, message):
    changed = change(json.loads(random_map(seed).to_json()))
    with pytest.raises(UserError, match=f"^not an attention map, or a damaged one: .*{message}"):
        AttentionMap.from_json(changed if isinstance(changed, str) else json.dumps(changed))


# --- models


def test_a_transformer_shows_every_layer_head_and_kind(seed):
    model = build_model(SMALL_TRANSFORMER, LETTERS).train()
    forced = LETTERS.target.encode("Hab cd")
    attention = attention_map(model, LETTERS, "abc de", forced)
    assert attention.encoder_self.shape == (2, 2, 7, 7)
    assert attention.decoder_self.shape == (3, 2, 7, 7)
    assert attention.cross.shape == (3, 2, 7, 7)
    assert attention.target_pieces == ("H", "a", "b", "▁", "c", "d", "</s>")
    assert attention.read_pieces == ("<s>", "H", "a", "b", "▁", "c", "d")
    np.testing.assert_allclose(row_sums(attention), 1, atol=1e-5)
    assert not np.triu(attention.decoder_self, k=1).any()
    assert (attention.source_text, attention.target_text) == ("abc de", "Hab cd")
    assert model.training, "the model is left in the mode it was in"


@pytest.mark.parametrize("wiring", ["fixed", "bahdanau", "luong"])
def test_a_recurrent_model_shows_its_one_cross_attention(seed, wiring):
    model = build_model(RecurrentConfig(wiring=wiring, embedding=5, hidden=6), LETTERS)
    attention = attention_map(model, LETTERS, "abc", LETTERS.target.encode("de"))
    assert attention.kinds == (() if wiring == "fixed" else ("cross",))
    assert attention.cross.shape == ((0, 0, 3, 4) if wiring == "fixed" else (1, 1, 3, 4))
    np.testing.assert_allclose(row_sums(attention), 1, atol=1e-5)
    assert AttentionMap.from_json(attention.to_json()).cross.shape == attention.cross.shape


# --- language models


def test_a_text_looks_at_itself(seed):
    """Row i holds what was looked at when token i was read: nothing of it is there later."""
    model = build_model(WRITER, ONE_VOCABULARY).train()
    ids = LETTERS.target.encode("ab cde")
    attention = text_map(model, LETTERS.target, ids)
    assert attention.kinds == ("decoder_self",)
    assert attention.decoder_self.shape == (3, 2, 7, 7)
    assert attention.read_pieces == ("<s>", "a", "b", "▁", "c", "d", "e")
    assert attention.target_pieces == ("a", "b", "▁", "c", "d", "e", "</s>")
    assert attention.source_pieces == ()
    np.testing.assert_allclose(row_sums(attention), 1, atol=1e-5)
    assert not np.triu(attention.decoder_self, k=1).any()
    shorter = text_map(model, LETTERS.target, ids[:3])
    np.testing.assert_allclose(shorter.decoder_self, attention.decoder_self[:, :, :4, :4], atol=1e-6)
    assert model.training, "the model is left in the mode it was in"


def test_bertviz_gets_a_tensor_for_each_layer(seed):
    """(1, heads, rows, columns), and the tokens of rows and columns."""
    attention = random_map(seed)
    given = attention.to_bertviz()
    assert [len(given[f"{kind}_attention"]) for kind in ("encoder", "decoder", "cross")] == [2, 1, 3]
    rows, columns = len(given["decoder_tokens"]), len(given["encoder_tokens"])
    assert given["cross_attention"][2].shape == (1, 2, rows, columns)
    assert given["cross_attention"][2][0].numpy().tolist() == attention.cross[2].tolist()
    (only,) = random_map(seed, encoder=(0, 0), cross=(0, 0)).to_bertviz()["attention"]
    assert only.shape == (1, 3, rows, rows)
