"""The journey of one sentence through a Transformer, with shapes and some numbers at every station.

python examples/journey.py                            through a tiny model, which first learns four sentences
python examples/journey.py runs/en-de "A dog runs."   through a model of yours
"""

import sys

import torch
from torch import Tensor

from limelight.config import TransformerConfig
from limelight.inspection import probe
from limelight.models.families import build_model
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.tokens import END, Tokenizers, train_tokenizer
from limelight.training.optimization.loss import batch_loss

SOURCES = ["A dog runs.", "Two dogs run.", "A bird sings.", "Two birds sing."]
TARGETS = ["Ein Hund rennt.", "Zwei Hunde rennen.", "Ein Vogel singt.", "Zwei Vögel singen."]


def learn_by_heart() -> Translator:
    """A Transformer of two layers that knows four sentences and nothing else."""
    torch.manual_seed(1)
    rules = {"kind": "bpe", "vocabulary_size": None, "languages": ["de"], "byte_fallback": True, "seed": 1}
    both = train_tokenizer(SOURCES + TARGETS, sentences=len(SOURCES), **rules)
    sizes = TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=32, heads=4, d_ff=64, dropout=0.0)
    model = build_model(sizes, Tokenizers(both, both))
    batch = model.batch(list(map(both.encode, SOURCES)), list(map(both.encode, TARGETS)))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    for _ in range(100):
        optimizer.zero_grad()
        (batch_loss(model, batch, label_smoothing=0.1) / batch.target_tokens).backward()
        optimizer.step()
    return Translator(model.eval(), Tokenizers(both, both))


def show(station: str, values: Tensor, *, note: str = "") -> None:
    """A line: the station, the shape of its output, and the first numbers."""
    numbers = " ".join(f"{number:5.2f}" for number in values.flatten()[:5].tolist())
    print(f"{station:<19}{tuple(values.shape)!s:<15}{note or numbers + ' ...'}")


@torch.inference_mode()
def travel(translator: Translator, text: str) -> None:
    """Print every station from a text to its translation, taking the most probable token at each step."""
    model, (source_side, target_side) = translator.model, translator.tokenizers
    if getattr(model.encoder, "positions", None) is None:
        sys.exit("journey: the model has to be a Transformer with positions that are added to the embeddings")
    ids = source_side.encode(text)
    print(f"text    {text}\npieces  {' '.join(source_side.pieces(ids))}\nids     {' '.join(map(str, ids))}\n")
    source, valid = torch.tensor([[*ids, END]]), torch.ones(1, len(ids) + 1, dtype=torch.bool)
    show("batch", source, note="a row for each sentence, its end included")
    show("embedding", hidden := model.encoder.embedding(source))
    show("with positions", model.encoder.positions(hidden))
    with probe(model, weights=True, states=True) as seen:
        memory = model.encode(source, valid)
    for depth, weights in enumerate(seen.layers("encoder_self")):
        show(f"encoder {depth} attends", weights)
        show(f"encoder {depth} leaves", seen.states[f"encoder.{depth + 1}"])
    show("memory", memory.features)
    state, read, said = model.start(memory), model.start_id, []
    while read != END and len(said) < 3 * len(ids):
        print(f"\nthe decoder reads   {target_side.pieces([read])[0]}")
        # A step keeps no weights: what was said is read once more, all of it at once, as in training.
        with probe(model, weights=True) as seen:
            model(model.batch([ids], [said]))
        for depth, weights in enumerate(seen.layers("cross")):
            share, place = weights[0, :, -1].mean(dim=0).max(dim=-1)
            show(
                f"decoder {depth} attends",
                weights[:, :, -1:],
                note=f"{share:.2f} at {source_side.pieces([*ids, END])[place]}",
            )
        features, state = model.step(torch.tensor([[read]]), state)
        show("features", features)
        show("logits", logits := model.project(features))
        share, best = logits[0, 0].softmax(dim=-1).max(dim=-1)
        said.append(read := int(best))
        show("softmax", logits, note=f"{share:.2f} for {target_side.pieces([read])[0]}")
    print(f"\nids     {' '.join(map(str, said))}\ntext    {target_side.decode(said)}")


if __name__ == "__main__":
    own = load_translator(sys.argv[1], torch.device("cpu")) if len(sys.argv) > 1 else learn_by_heart()
    travel(own, sys.argv[2] if len(sys.argv) > 2 else "Two dogs run.")
