"""`limelight attention`."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from limelight.cli import options
from limelight.cli.arguments import argument, number, option, refuse
from limelight.cli.models import Machine, find_models, open_model, open_translator
from limelight.cli.outcome import command, note, wrote
from limelight.cli.output import can_show, show
from limelight.errors import UserError, shown

if TYPE_CHECKING:
    from limelight.config import Direction
    from limelight.inspection import AttentionMap
    from limelight.pipelines.translator import Translator

EXAMPLES = """
  limelight attention --model runs/en-de "A dog runs on the grass."
  limelight attention --model runs/en-de "A dog." --kind encoder_self
  limelight attention --model runs/en-de "A dog runs." \\
      --target "Ein Hund rennt." -o map.svg
  limelight attention --model runs/en-de "A dog runs." --grid -o heads.png
  limelight attention --model runs/en-de "A dog runs." -o map.html
  limelight attention --model runs/en-de "Dogs run." --measure shares -o s.pdf
  limelight attention --model runs/plays "To be, or not to be" --layer 0
"""
DRAWING = "Selection"
Kind = Literal["cross", "encoder_self", "decoder_self"]
"""As in `AttentionMap` and its JSON."""


@dataclass(frozen=True, kw_only=True)
class View:
    """Which weights are shown."""

    kind: Annotated[
        Kind | None,
        option(
            "--kind",
            "Target to source (default), source to source, or target to target (default of language models).",
            "cross|encoder_self|decoder_self",
            panel=DRAWING,
        ),
    ] = None
    layer: Annotated[
        int | None,
        option("--layer", "Layer number, from 0. Default: the mean of all layers.", "N", number(int, 0), panel=DRAWING),
    ] = None
    head: Annotated[
        list[int] | None,
        option(
            "--head",
            "Head number, from 0; can be repeated. Default: the mean of all heads.",
            "N",
            number(int, 0),
            panel=DRAWING,
        ),
    ] = None
    grid: Annotated[bool, option("--grid", "Draw every layer and head in one picture.", panel=DRAWING)] = False
    theme: options.PictureTheme = None
    words: Annotated[
        bool, option("--words/--pieces", "Merge tokens to words, or show subword tokens.", panel=DRAWING)
    ] = True
    end: Annotated[
        bool,
        option("--end/--no-end", "Show the end token </s>, or leave it out and normalize the rows.", panel=DRAWING),
    ] = True

    def check(self, output: Path | None) -> None:
        """Raise `UserError` for options that do not apply to the output."""
        ending = "" if output is None else output.suffix.lower()
        chosen = {"--layer": self.layer, "--head": " --head ".join(map(str, self.head or ()))}
        if self.grid and output is None:
            raise UserError("--grid is too large for a terminal: write a picture, for example -o heads.png")
        if self.grid:
            refuse(chosen, "--grid draws every layer and head; leave it out")
        if ending in (".json", ".csv", ".html"):
            chosen |= {"--grid": self.grid, "--kind": self.kind}
            refuse(chosen, f"{output}: {ending} contains all weights of all kinds; leave it out")
        if ending in ("", ".json", ".csv"):
            refuse({"--theme": self.theme}, "themes are for pictures and pages: give -o FILE, such as -o map.png")


@command("attention", EXAMPLES, "Give a shorter sentence: a map has a weight for each pair of tokens in each head")
def attention(
    *,
    sentence: Annotated[str, argument("The source sentence, or the text that a language model reads.", "SENTENCE")],
    model: options.OneModel = None,
    target: Annotated[
        str | None, option("--target", "Show attention for this translation instead of the model's.", "TEXT")
    ] = None,
    source_lang: options.FromLanguage = "",
    target_lang: options.ToLanguage = "",
    output: Annotated[
        Path | None,
        option(
            "--output -o",
            "Picture (.png, .svg, .pdf), page (.html) or all values (.json, .csv). Default: text.",
            "FILE",
        ),
    ] = None,
    beam: options.Beam = None,
    measure: Annotated[
        Literal["weights", "contributions", "shares", "erasure", "layers"],
        option(
            "--measure",
            "Attention weights, or what they do: written to a file, see docs/inspection.md.",
            "weights|contributions|shares|erasure|layers",
        ),
    ] = "weights",
    view: View,
    machine: Machine,
) -> None:
    """Show the attention weights of a model for a sentence or a text."""
    view.check(output)
    if measure != "weights" and output is None:
        raise UserError(f"--measure {measure}: give a file, such as -o {measure}.svg or .csv")
    from limelight.config import Direction
    from limelight.inspection.views import ENDINGS, ending_of

    folders, configs = find_models(model, bundled=True)
    learns_from = configs[0].model.learns_from
    page = output is not None and output.suffix.lower() == ".html"
    direction = Direction(source_lang, target_lang)
    differs = ""
    if measure != "weights" and output is not None:
        ending_of(output, ENDINGS)
        if "pairs" not in learns_from:
            raise UserError(f"{folders[0]}: this model does not translate; --measure {measure} is for translators")
        _write_measure(
            open_translator(folders, machine, brief=True), measure, sentence, target, direction, output, view
        )
    elif "pairs" not in learns_from:
        kind, who = ("reader", "an encoder alone") if "labels" in learns_from else ("generator", "a language model")
        given = {"--target": target, "--beam": beam, "--from": source_lang, "--to": target_lang}
        if kind == "generator":
            given["--no-end"] = not view.end
        refuse(given, f"{who} has one text and does not translate; leave it out")
        seen = open_model(kind, folders, machine).attention(sentence)
        _show(seen, "encoder_self" if kind == "reader" else "decoder_self", output, view, folders[0])
    else:
        translator = open_translator(folders, machine)
        if page and output is not None and view.end:
            return _write_page(translator, sentence, output, target, beam, direction, view, folders[0])
        seen = translator.attention(
            sentence, target=target, beam_size=beam, source_lang=source_lang, target_lang=target_lang
        )
        if target is None:
            asked = translator.translate(sentence, beam_size=beam, source_lang=source_lang, target_lang=target_lang)
            if asked.text != seen.target_text:
                differs = (
                    f"`translate` prints {shown(asked.text, 80)!r}: it reads sentences one by one, with "
                    "placeholders for what it carries; these weights are of the text as it is"
                )
        _show(seen, "cross", output, view, folders[0])
    if differs:
        note(differs)
    if output is not None:
        wrote(output)


def _show(seen: AttentionMap, kind: str, output: Path | None, view: View, name: str) -> None:
    """Print a map, or write it to a file."""
    from limelight.inspection import save, save_grid

    kind = view.kind or kind
    seen = replace(seen, model=seen.model or name)
    seen = seen if view.end else seen.without_end()  # before words are merged: a word's tokens then have equal weight
    page = output is not None and output.suffix.lower() == ".html"  # the page offers both
    seen = seen.merge_words() if view.words and not page else seen
    if output is None:
        show(_as_text(seen, kind, view))
    elif view.grid:
        save_grid(seen, output, kind=kind, theme=view.theme or "dark")
    else:
        save(seen, output, kind=kind, layer=view.layer, heads=view.head, theme=view.theme or "dark")


def _write_measure(
    translator: Translator,
    measure: str,
    sentence: str,
    target: str | None,
    direction: Direction,
    output: Path,
    view: View,
) -> None:
    """Write another measure than the weights."""
    from limelight.inspection.views import save_view
    from limelight.pipelines.views import view_of

    save_view(
        view_of(translator, measure, sentence, target, source_lang=direction.source, target_lang=direction.target),
        output,
        theme=view.theme or "dark",
    )


def _write_page(
    translator: Translator,
    sentence: str,
    output: Path,
    target: str | None,
    beam: int | None,
    direction: Direction,
    view: View,
    name: str,
) -> None:
    """Write the page of a translation, with its decoding steps, beam search and attention computations."""
    from limelight.files import write_output
    from limelight.pipelines.explain import Question, explained_page

    ids = None if target is None else tuple(translator.towards(direction).target.encode(target))
    translator.name = translator.name or name
    question = Question(sentence, *direction, beam_size=beam, target=ids)
    write_output(output, explained_page(translator, question, theme=view.theme or "dark").encode())
    wrote(output)


def _as_text(seen: AttentionMap, kind: str, view: View) -> str:
    """The map as text, as wide as the terminal (else 80 columns), in blocks if it supports them."""
    from limelight.inspection import text_picture
    from limelight.inspection.terminal import ASCII, BLOCKS, NARROWEST

    width = max(shutil.get_terminal_size().columns, NARROWEST)
    shades = BLOCKS if can_show(BLOCKS) else ASCII
    return text_picture(seen, kind, layer=view.layer, heads=view.head, width=width, shades=shades)
