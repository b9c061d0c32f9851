"""The model card of the bundled model: `limelight card` prints it."""

from pathlib import Path

from limelight.models.families import count_parameters
from limelight.storage.model import StoredModel

TEMPLATE = Path(__file__).with_suffix(".md")


def write_card(stored: StoredModel, name: str, **tables: str) -> str:
    """The card, from the model as it is stored and the tables that were measured with it (`{...}` in `box_card.md`)."""
    config, notes = stored.config, stored.notes
    return TEMPLATE.read_text(encoding="utf-8").format(
        name=name,
        encoder_layers=config.model.encoder_layers,
        decoder_layers=config.model.decoder_layers,
        d_model=config.model.d_model,
        parameters=count_parameters(stored.model),
        weights=notes["made_from"],
        vocabulary=stored.tokenizers.target.size,
        kind=config.tokens.kind,
        updates=f"{int(notes['step']):,}",
        batch=config.batching.tokens,
        seed=config.training.seed,
        beam=config.decoding.beam_size,
        **tables,
    )
