"""`limelight attention`, `align` and `heads`."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from limelight.cli import options
from limelight.cli.arguments import argument, flag, option, refuse
from limelight.cli.corpora import by_direction, corpora, files_in
from limelight.cli.evaluate import read_tests
from limelight.cli.models import Machine, find_models, open_model, open_translator
from limelight.cli.options import SELECTION
from limelight.cli.outcome import command, wrote
from limelight.cli.output import can_show, lines_to, report, show, valid_text
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.inspection import AttentionMap

ATTENTION = """
  limelight attention --model runs/en-de "A dog runs on the grass."
  limelight attention --model runs/en-de "A dog." --kind encoder_self
  limelight attention --model runs/en-de "A dog runs." \\
      --target "Ein Hund rennt." -o map.svg
  limelight attention --model runs/en-de "A dog runs." --grid -o heads.png
  limelight attention --model runs/en-de "A dog runs." -o map.html
  limelight attention --model runs/plays "To be, or not to be" --layer 0
"""


@dataclass(frozen=True, kw_only=True)
class View:
    """Which weights are shown."""

    kind: Literal["cross", "encoder_self", "decoder_self"] | None = option(
        "Target to source (default), source to source, or target to target (default of language models).",
        "cross|encoder_self|decoder_self",
        panel=SELECTION,
    )
    layer: int | None = option("Layer number, from 0. Default: the mean of all layers.", "N", panel=SELECTION, min=0)
    head: list[int] | None = option(
        "Head number, from 0; can be repeated. Default: the mean of all heads.", "N", panel=SELECTION, min=0
    )
    grid: bool = flag("Draw every layer and head in one picture.", panel=SELECTION)
    theme: Literal["dark", "light"] | None = option(
        "Colors of a picture: dark (default), or light for print.", "dark|light", panel=SELECTION
    )
    words: bool = flag(
        "Merge tokens to words, or show subword tokens.", "--words/--pieces", default=True, panel=SELECTION
    )

    def check(self, ending: str) -> None:
        """Raise `UserError` for options that do not apply to an output with this ending."""
        chosen: dict[str, Any] = {"--layer": self.layer, "--head": self.head}
        if self.grid and not ending:
            raise UserError("--grid is too large for a terminal: write a picture, for example -o heads.png")
        if self.grid:
            refuse(chosen, "--grid draws every layer and head; leave it out")
        if ending in (".json", ".html"):
            chosen |= {"--grid": self.grid, "--kind": self.kind}
            refuse(chosen, f"a file {ending} contains all weights of all kinds; leave it out")
        if ending in ("", ".json"):
            refuse({"--theme": self.theme}, "themes are for pictures and pages: give -o FILE, such as -o map.png")

    def present(self, seen: AttentionMap, kind: str, output: Path | None) -> None:
        """Print a map, or write it to a file."""
        from limelight.inspection import save, text_picture
        from limelight.inspection.terminal import ASCII, BLOCKS

        kind, theme = self.kind or kind, self.theme or "dark"
        page = output is not None and output.suffix.lower() == ".html"  # the page offers both
        seen = seen.merge_words() if self.words and not page else seen
        if output is None:
            width = shutil.get_terminal_size().columns
            shades = BLOCKS if can_show(BLOCKS) else ASCII
            show(text_picture(seen, kind, layer=self.layer, heads=self.head, width=width, shades=shades))
        else:
            save(seen, output, kind=kind, layer=self.layer, heads=self.head, grid=self.grid, theme=theme)


@command("attention", ATTENTION)
def attention(
    *,
    sentence: str = argument("The source sentence, or the text that a language model reads.", "SENTENCE", ...),
    model: options.Words = options.ONE_MODEL,
    target: str | None = option("Show attention for this translation instead of the model's.", "TEXT"),
    source_lang: str = options.FROM,
    target_lang: str = option("Target language, for a model with several directions.", "LANG", "", "--to"),
    output: Path | None = option(
        "Picture (.png, .svg, .pdf), page (.html) or all values (.json). Default: text.",
        "FILE",
        None,
        "--output -o",
    ),
    beam: int | None = options.BEAM,
    view: View,
    machine: Machine,
) -> None:
    """Show the attention weights of a model for a sentence or a text."""
    ending = "" if output is None else output.suffix.lower()
    view.check(ending)
    for text in (sentence, target or ""):
        valid_text(text)
    from limelight.files import write_output

    folders, configs = find_models(model, bundled=True)
    learns_from = configs[0].model.learns_from
    if "pairs" not in learns_from:
        refuse(
            {"--target": target, "--beam": beam, "--from": source_lang, "--to": target_lang},
            "this model has one text and does not translate; leave it out",
        )
        default = "encoder_self" if "labels" in learns_from else "decoder_self"
        seen = open_model("load", folders, machine).attention(sentence)
        view.present(replace(seen, model=folders[0]), default, output)
    else:
        translator = open_translator(folders, machine)
        if output is not None and ending == ".html":
            from limelight.pipelines.explain import Question, explained_page

            direction = translator.choose(sentence, source_lang, target_lang, pivot=False).direction
            forced = target and tuple(translator.towards(direction).target.encode(target))
            question = Question(sentence, source_lang, target_lang, beam_size=beam, target=forced or None)
            write_output(output, explained_page(translator, question, theme=view.theme or "dark").encode())
        else:
            seen = translator.attention(
                sentence, target=target, beam_size=beam, source_lang=source_lang, target_lang=target_lang
            )
            view.present(seen, "cross", output)
    if output is not None:
        wrote(output)


ALIGN = """
  limelight align pairs.tsv --from en --to de
  limelight align test.en test.de --model runs/en-de -o test.align
  limelight align pairs.tsv --from en --to de --tokenize --json
"""
CHUNK = 2000
"""Pairs that are in memory at a time."""


@command("align", ALIGN)
def align(
    *,
    files: list[str] = argument(
        "Sentence pairs: one file with both sides (.tsv, .jsonl, .tmx, ...), or two files line by line.", "FILE...", ...
    ),
    model: options.Words = options.ONE_MODEL,
    source_lang: str = options.FROM,
    target_lang: str = options.TO,
    tokenize: bool = flag("Divide the texts into words and signs. Default: tokens are separated by spaces."),
    as_json: bool = options.AS_JSON_LINES,
    output: options.Files = options.OUTPUT,
    machine: Machine,
) -> None:
    """Align the words of sentence pairs.

    Prints a line of links `i-j` for each pair: source word i, target word j, counted from 0 (Pharaoh format). The links
    of both directions are combined, if the model has both.
    """
    folders, configs = find_models(model, bundled=True, only_one="words are aligned with one")
    corpus, *more = corpora(files, source_lang, target_lang, "FILE")
    if more:
        raise UserError(f"{len(files)} files: give one file with both sides, or two files with one side each")
    from limelight.config import directions_of, find_direction
    from limelight.formats.lines import chunks
    from limelight.preparation.read import pairs_of
    from limelight.text.words import words_and_signs

    [named] = by_direction([corpus], configs, (source_lang, target_lang))
    direction = named or find_direction(directions_of(configs[0].data))
    pairs, divide = pairs_of(corpus, otherwise=direction), words_and_signs if tokenize else str.split
    translator = open_translator(folders, machine, brief=True)
    from limelight.pipelines.align import PairError

    with lines_to(output, files_in(files)) as write:
        for chunk in chunks(pairs, CHUNK):
            words = [(divide(pair.source), divide(pair.target)) for pair in chunk]
            try:
                aligned = translator.aligner.align(words, direction)
            except PairError as error:
                raise UserError(f"{chunk[error.number - 1].place}: {error.reason}") from None
            for (source, target), links in zip(words, aligned, strict=True):
                values = {"source": source, "target": target, "links": links}
                write(json.dumps(values, ensure_ascii=False) if as_json else " ".join(f"{i}-{j}" for i, j in links))


HEADS = """
  limelight heads --model runs/en-de --test test.en test.de
  limelight heads --model runs/en-de --test test.tsv --json > heads.json
  limelight heads --model runs/en-de --test test.tsv --keep
"""


@command("heads", HEADS)
def heads(
    *,
    test: list[str] = options.TEST,
    model: options.Words = options.ONE_MODEL,
    sentences: int = option("Maximum number of pairs; of more, every n-th is taken.", "N", 500, min=1),
    keep: bool = flag("Store the roles in the model folder, so that the page shows them (page of `limelight serve`)."),
    as_json: bool = options.AS_JSON,
    source: str = options.FROM,
    target: str = options.TO,
    quiet: bool = options.QUIET,
    machine: Machine,
) -> None:
    """Show for each attention head of a translation model what it attends to, and how much it matters.

    Prints a line for each head of encoder, decoder and cross-attention: its role, the token on which most of its weight
    is (the previous or next one, the end, a rare word, or the source word that is translated), and the change of the
    loss if the head is switched off. Measured on sentence pairs, whose translations are forced.
    """
    folders, configs = find_models(model, bundled=True, only_one="the heads of one are measured", pairs=True)
    groups = read_tests(test, configs, (source, target))
    translator = open_translator(folders, machine)
    from limelight.evaluation.heads import study_heads
    from limelight.screen import Display

    with Display(quiet=quiet) as display:
        count = partial(display.count, "head")
        study = study_heads(translator, groups, sentences=sentences, origin={"model": folders[0]}, show=count)
    report(study, as_json=as_json)
    if keep:
        from limelight.files import writing
        from limelight.storage.layout import ROLES, find_model
        from limelight.storage.tables import save_table

        path = find_model(folders[0]) / ROLES
        files = [Path(file).name for file in study.provenance["test_files"]]
        with writing(path, "give a copy of the model folder"):
            save_table(path, study.stored_roles(), {"test": files})
        wrote(path)
