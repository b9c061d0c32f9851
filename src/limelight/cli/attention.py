"""`limelight attention`."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from limelight.cli import drawing, options
from limelight.cli.models import Machine, find_models, open_generator, open_reader, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import can_color, can_show, show
from limelight.errors import UserError, shown

if TYPE_CHECKING:
    from limelight.config import RunConfig
    from limelight.inspection import AttentionMap
    from limelight.pipelines.translator import Translator

EXAMPLES = """
[bold]Examples[/bold]
  limelight attention --model runs/en-de "A dog runs on the grass."
  limelight attention --model runs/en-de "A dog." --kind encoder_self
  limelight attention --model runs/en-de "A dog runs." \\
      --target "Ein Hund rennt." -o map.svg
  limelight attention --model runs/en-de "A dog runs." --grid -o heads.png
  limelight attention --model runs/en-de "A dog runs." -o map.html
  limelight attention --model runs/en-de "Dogs run." --measure shares -o s.pdf
  limelight attention --model runs/plays "To be, or not to be" --layer 0
"""
WITH_LESS_MEMORY = "Give a shorter sentence: a map has a weight for each pair of tokens in each head"


@command("attention", EXAMPLES, WITH_LESS_MEMORY)
def attention(
    sentence: drawing.Sentence,
    model: options.OneModel = None,
    target: drawing.Forced = None,
    source_lang: options.FromLanguage = "",
    target_lang: options.ToLanguage = "",
    output: drawing.Picture = None,
    beam: options.Beam = None,
    measure: drawing.Measured = "weights",
    kind: drawing.KindOfMap = None,
    layer: drawing.Layer = None,
    head: drawing.Heads = None,
    grid: drawing.Grid = False,
    theme: drawing.PictureTheme = None,
    words: drawing.Words = True,
    end: drawing.End = True,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Show the attention weights of a model for a sentence or a text."""
    _require_picture(output, kind=kind, layer=layer, head=head, grid=grid)
    if theme is not None and (output is None or output.suffix.lower() in (".json", ".csv", ".tex")):
        raise UserError(f"--theme {theme}: themes are for pictures and pages: give -o FILE, such as -o map.png")
    from limelight.inspection import save, save_grid

    folders, configs = find_models(model, bundled=True)
    learns_from, machine = configs[0].model.learns_from, Machine(device, threads)
    if measure != "weights":
        _write_measure(folders, configs, machine, sentence, measure, output, target=target,
                       direction=(source_lang, target_lang), theme=theme)  # fmt: skip
        return
    differs = ""
    if "labels" in learns_from:
        _refuse_sides("an encoder alone", target, beam, source_lang, target_lang, end=True)
        seen, of_map = open_reader(folders, machine).attention(sentence), kind or "encoder_self"
    elif "text" in learns_from:
        _refuse_sides("a language model", target, beam, source_lang, target_lang, end=end)
        seen, of_map = open_generator(folders, machine).attention(sentence), kind or "decoder_self"
    else:
        translator = open_translator(folders, machine)
        if output is not None and output.suffix.lower() == ".html" and end:
            _write_page(translator, sentence, output, target=target, beam=beam, theme=theme,
                        direction=(source_lang, target_lang), name=folders[0])  # fmt: skip
            return
        seen = translator.attention(
            sentence, target=target, beam_size=beam, source_lang=source_lang, target_lang=target_lang
        )
        if target is None:
            asked = translator.translate(sentence, beam_size=beam, source_lang=source_lang, target_lang=target_lang)
            if asked.text != seen.target_text:
                differs = (
                    f"limelight: `translate` prints {shown(asked.text, 80)!r}: it reads sentences one by one, with "
                    "placeholders for what it carries; these weights are of the text as it is"
                )
        of_map = kind or "cross"
    seen = replace(seen, model=seen.model or folders[0])
    seen = seen if end else seen.without_end()  # before words are merged: the tokens of a word then have equal weight
    page = output is not None and output.suffix.lower() == ".html"  # the page offers both
    seen = seen.merge_words() if words and not page else seen
    if output is None:
        show(_as_text(seen, of_map, layer, head))
        typer.echo(differs, err=True, nl=bool(differs))
        return
    colors = theme or "dark"
    if grid:
        save_grid(seen, output, kind=of_map, theme=colors)
    else:
        save(seen, output, kind=of_map, layer=layer, heads=head, theme=colors)
    typer.echo(differs, err=True, nl=bool(differs))
    typer.echo(f"wrote {output}", err=True)


def _write_measure(
    folders: list[str],
    configs: list[RunConfig],
    machine: Machine,
    sentence: str,
    measure: str,
    output: Path | None,
    *,
    target: str | None,
    direction: tuple[str, str],
    theme: drawing.Theme | None,
) -> None:
    """Write another measure than the weights."""
    from limelight.inspection.views import ENDINGS, ending_of, save_view

    if output is None:
        raise UserError(f"--measure {measure}: give a file, such as -o {measure}.svg or .csv")
    ending_of(output, ENDINGS)
    if "pairs" not in configs[0].model.learns_from:
        raise UserError(f"{folders[0]}: this model does not translate; --measure {measure} is for translators")
    from limelight.pipelines.views import view_of

    translator = open_translator(folders, machine, brief=True)
    view = view_of(translator, measure, sentence, target, source_lang=direction[0], target_lang=direction[1])
    save_view(view, output, theme=theme or "dark")
    typer.echo(f"wrote {output}", err=True)


def _write_page(
    translator: Translator,
    sentence: str,
    output: Path,
    *,
    target: str | None,
    beam: int | None,
    theme: drawing.Theme | None,
    direction: tuple[str, str],
    name: str,
) -> None:
    """Write the page of a translation, with its decoding steps, beam search and attention computations."""
    from limelight.config import Direction
    from limelight.files import write_output
    from limelight.pipelines.explain import Question, explained_page

    ids = None if target is None else tuple(translator.towards(Direction(*direction)).target.encode(target))
    translator.name = translator.name or name
    question = Question(sentence, *direction, beam_size=beam, target=ids)
    page = explained_page(translator, question, theme=theme or "dark")
    write_output(output, page.encode())
    typer.echo(f"wrote {output}", err=True)


def _refuse_sides(
    who: str, target: str | None, beam: int | None, source_lang: str, target_lang: str, *, end: bool
) -> None:
    """Raise `UserError` for options that need a source and a target."""
    given = (
        [f"--target {target}"] * (target is not None)
        + [f"--beam {beam}"] * (beam is not None)
        + [f"--from {source_lang}"] * bool(source_lang)
        + [f"--to {target_lang}"] * bool(target_lang)
        + ["--no-end"] * (not end)
    )
    if given:
        raise UserError(f"{' and '.join(given)}: {who} has one text and does not translate; leave it out")


def _require_picture(
    output: Path | None, *, kind: drawing.Kind | None, layer: int | None, head: list[int] | None, grid: bool
) -> None:
    """Raise `UserError` for drawing options that do not apply to the output."""
    if grid and output is None:
        raise UserError("--grid is too large for a terminal: write a picture, for example -o heads.png")
    chosen = [f"--layer {layer}"] if layer is not None else []
    chosen += [f"--head {each}" for each in head or ()]
    if grid and chosen:
        raise UserError(f"--grid draws every layer and head: leave out {' and '.join(chosen)}")
    chosen += ["--grid"] if grid else []
    chosen += [f"--kind {kind}"] if kind is not None else []
    if output is not None and output.suffix.lower() in (".json", ".csv", ".html") and chosen:
        ending = output.suffix.lower()
        raise UserError(f"{output}: {ending} contains all weights of all kinds: leave out {' and '.join(chosen)}")


def _as_text(seen: AttentionMap, kind: str, layer: int | None, head: list[int] | None) -> str:
    """The map as text, as wide as the terminal (else 80 columns), in colors or blocks if it supports them."""
    from limelight.inspection import text_picture
    from limelight.inspection.terminal import ASCII, BLOCKS, NARROWEST

    width = max(shutil.get_terminal_size().columns, NARROWEST)
    shades = None if can_color() else BLOCKS if can_show(BLOCKS) else ASCII
    return text_picture(seen, kind, layer=layer, heads=head, width=width, shades=shades)
