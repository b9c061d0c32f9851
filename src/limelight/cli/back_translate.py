"""`limelight back-translate`."""

from __future__ import annotations

from limelight.cli import options, search_options, synthesis_options
from limelight.cli.corpus import ModelSettings, limits_of, search_of, write_corpora
from limelight.cli.models import Machine, find_models
from limelight.errors import UserError

EXAMPLES = """
[bold]Examples[/bold]
  limelight back-translate --model runs/de-en --text mono.de -o new.tsv.gz
  limelight back-translate --model runs/de-en --text a.de --beam 1 -o a.tsv
  limelight back-translate --model runs/de-en --text a.de --sample -o b.tsv
  limelight back-translate --model runs/many --from de --to en \\
      --text mono.de.zst -o new.tsv.zst
  limelight train --train a.en a.de --back-translated new.tsv.gz --out runs/b
"""
WITH_LESS_MEMORY = (
    "Finished work is kept. A smaller --batch-tokens or --beam needs less memory, but starts again from the beginning"
)
SEED = 1
"""The default sampling seed: without a fixed seed a corpus could not be resumed."""


def back_translate(
    *,
    output: synthesis_options.NewCorpus,
    model: options.Models = None,
    quiet: options.Quiet = False,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    batch_tokens: options.BatchTokens = 16384,
    precision: options.Precision = None,
    shortlist: options.Shortlisted = False,
    text: synthesis_options.SourceText = None,
    on_bad_line: options.OnBadLine = None,
    max_length_ratio: synthesis_options.MaxLengthRatio = None,
    search: search_options.Search,
    sample: search_options.Sample = False,
    drawing: search_options.Drawing,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Translate text of the target language into the source language with a model of the reverse direction, as
    training text (back-translation). After an interruption, the same command continues."""
    if not text:
        raise UserError("missing text: give --text FILE..., in the target language of the new model")
    search_options.check_search(search, n_best=1, sample=sample)
    if sample and drawing["seed"] is None:
        drawing["seed"] = SEED
    sampling = search_options.sampling_of(drawing, sample=sample)
    folders, configs = find_models(model, source=source, target=target, translates=True)
    from limelight.config import directions_of, find_direction
    from limelight.corpus.synthesis import Job, Part

    direction = find_direction(directions_of(configs[0].data), source, target)
    limits = limits_of(configs[0], max_length_ratio, on_bad_line)
    parts = tuple(Part((file,)) for file in text)
    job = Job(parts, output, "source", direction, search_of(**search, sampling=sampling), "", limits, batch_tokens)
    write_corpora([job], ModelSettings(folders, Machine(device, threads), precision, shortlist), quiet=quiet)
