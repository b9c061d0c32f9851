"""Mistakes are a line with the remedy, and `--device` and `--threads` are settled before anything is loaded."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import Limelight

MISTAKES = """
    align --model {trained} a.en                | a file with one language needs a file with the other
    align --model {trained} a b c d             | 4 files: give one file with both sides, or two files
    align --model {trained} a.tsv a.tsv         | 2 files: give one file with both sides, or two files
    attention x                                 | missing model: give --model RUN
    attention x --model nowhere                 | nowhere: there is no such model
    attention x --model {trained} -o map.txt    | map.txt: the suffix determines the format and must be one of .png .sv
    attention x --model {trained} -o no/map.png | no/map.png: cannot be written: no such file or directory
    attention x --model {trained} --layer 1     | there is no layer 1: the model has 1, they count from 0 to 0
    attention x --model {trained} --head 0 --head 2 | there is no head 2: the model has 2, they count from
    attention x --model {trained} --grid        | --grid is too large for a terminal
    attention x --model {trained} --grid -o a.png --head 0 | --head 0: --grid draws every layer and head
    attention x --model {trained} --layer 0 -o a.html | --layer 0: a file .html contains all weights of all kinds
    attention x --kind encoder                  | 'encoder' is not one of 'cross', 'encoder_self', 'decoder_self'
    attention x --model {trained} --model {trained} | an ensemble of 2 models has no attention of its own
    attention x --model {writing} --target x --beam 2 | --target x and --beam 2: this model has one text
    attention x --model {writing} --kind cross  | this model has no attention of the kind cross; it has decoder_self
    attention x --target \udcff --model {trained} | is not valid UTF-8; write it in the encoding of the terminal
    attention " " --model {writing}             | the text is blank: there is nothing to attend to
    attention "A dog runs on the grass." --model {writing} | is longer than the 16 learned positions of this model
    back-translate --model {trained} -o new.tsv | missing text: give --text FILE...
    card --model {trained} --model {trained}    | 2 models: one card is printed; give --model once
    clean a.tsv -o a.tsv                        | a.tsv: is the input; give -o another name
    clean en-de=a.tsv -o a.tsv                  | a.tsv: is the input; give -o another name
    compare a.en a.en --test a.tsv -o a.en      | a.en: is the input; give -o another name
    compare a.en a.en --test a.tsv -o b.pdf     | b.pdf: the comparison is a page; give -o a name with .html
    clean a.tsv -o b.docx                       | pairs are written as .tsv, .jsonl or .tmx
    clean a.tsv -o .                            | .: pairs are written as .tsv, .jsonl or .tmx, not without a suffix
    clean a.en a.en -o . -o b.en                | .: is a folder; give -o the name of a file
    clean a.tsv -o b.tmx                        | names its languages
    clean a.tsv -o b.tsv -o c.tsv               | holds both sides: give it alone
    clean a.tsv -o b.en -o b.en                 | -o b.en: is given for both sides
    clean a.tsv -o no/b.tsv                     | no/b.tsv: cannot be written: no such file or directory
    distill --model {trained} -o new.tsv        | missing text: give either --train, parallel text, or --text
    distill --model {trained} -o new.tsv --text a.en --to fr | does not translate to fr; its directions are: en-lumi
    distill --model {trained} -o new.tsv --text a.en --set guards=false | --set guards: training text is what the
    distill --model {trained} -o new.tsv --text gone.en | gone.en: there is no such file
    distill --model {trained} -o new.txt --text a.en | new.txt: a corpus is written as .tsv
    distill --model {trained} -o new --text a.en | new: a corpus is written as .tsv
    doctor --test a.tsv                         | name the training text
    doctor nowhere                              | nowhere: there is no such file (looked in
    doctor .                                    | .: not a run or model folder
    evaluate --model {trained} --test a.tsv -o a.tsv | a.tsv: is the input; give -o another name
    evaluate --model {trained} --test a.tsv --to fr | this model does not translate to fr; its directions are: en-lumi
    evaluate --model {trained} --test en-fr=a.tsv   | does not translate from en to fr; its directions are: en-lumi
    evaluate --model {trained} --test en-fr=a.en a.en | does not translate to fr; its directions are: en-lumi
    evaluate --model {trained} --test gone.tsv  | gone.tsv: there is no such file
    evaluate --model {trained} --test empty.tsv | empty.tsv: there are no pairs
    evaluate --model {trained} --test latin.tsv | latin.tsv:1: not valid UTF-8
    evaluate --model {trained} --test a.en      | a.en: a file with one language needs a file with the other
    evaluate --model {trained} --test {corpus}/test.tsv -o no/kept.txt | no/kept.txt: cannot be written
    evaluate --model {writing} --test a.en --beam 2 | --beam 2: this model does not search; leave it out
    evaluate --model {writing} --test a.en -o kept.txt | kept.txt: this model does not search; leave it out
    evaluate --model {writing} --model {writing} --test a.en | 2 models: this command takes one model
    export --model {trained} --to onnx -o out   | 'onnx' is not one of 'argos', 'ctranslate2', 'huggingface'
    export --model {trained} --to ctranslate2   | missing option
    export --model {trained} --to huggingface -o out --quantization int8 | its weights are in float32, not in int8
    export --model {trained} --to ctranslate2 -o {trained} | exists already
    export --model {trained} --model {trained} --to ctranslate2 -o out | 2 models: one is exported at a time
    generate x                                  | missing model: give --model RUN
    generate x --model {trained}                | which does not generate; use it with `limelight translate`
    generate x --model {writing} --model {writing} | 2 models: this command takes one model
    generate x --model {writing} --greedy --seed 1 --top-k 2 | --top-k 2 and --seed 1: --greedy does not sample
    generate x --model {writing} --greedy --samples 2 | --samples 2: with --greedy all would be the same
    generate x --model {writing} --temperature 1e-45 | temperature 1e-45 is too low to sample
    generate x --model {writing} --stop=        | an empty stop text would end every text before it begins
    heads --model {writing} --test a.tsv        | this model does not translate
    heads --model {trained} --model {trained} --test a.tsv | 2 models: the heads of one are measured
    heads --model {trained} --test empty.tsv    | empty.tsv: there are no pairs
    import -o out                               | missing argument 'SOURCE'
    import gone -o out                          | there is no such file or folder
    import . -o out                             | this is a model in no known format; `limelight import` reads Argos
    keys add                                    | add which key?
    keys list x                                 | list takes no name
    keys revoke x                               | x
    learn --memory gone.tsv --model {trained} -o new | gone.tsv
    learn --memory a.tsv --model {trained} -o . | .: it exists already; give -o another name
    learn --memory a.tsv --model {trained} -o new | --memory a.tsv: fewer than 40 usable pairs
    pair a.txt gone.txt -o p.tmx                | gone.txt: there is no such file or folder
    pair a.txt b.txt -o p.xlsx                  | pairs are written as .tsv, .jsonl or .tmx, not .xlsx
    pair a.txt b.txt -o .                       | .: pairs are written as .tsv, .jsonl or .tmx, not without a suffix
    pair a.txt . -o p.tmx                       | a folder and a file: give two documents
    pair a.txt b.txt -o p.tmx                   | its language cannot be told from so little text: give --from LANG
    pair a.txt b.txt --from en --to en -o p.tmx | both sides are in the language 'en'
    pair a.txt b.txt --model x --no-model -o p.tmx | exclude each other
    serve --model nowhere                       | nowhere
    serve --model {trained} --host 0.0.0.0      | --keys FILE
    serve --model {trained} --keys gone.json    | limelight keys add
    serve --model {trained} --keys a --no-keys  | exclude each other
    serve --model {trained} --deadline 0        | 0 should be greater than or equal to 0.01
    serve --model {trained} --cors https://example.org/ | a scheme and a host
    serve --model {trained} --model {name}={trained} | NAME=
    shortlist --model {trained} --model {trained} | 2 models: each has a shortlist of its own; give --model once
    shortlist --model {writing}                 | this model does not translate
    translate --model {trained} a.en -o a.en    | a.en: is the input; give -o another name
    translate                                   | missing model: give --model RUN, the folder that
    translate --model {trained} a.txt --text b  | --text and 'a.txt': give one of them
    translate --model {trained} a.txt b.txt --text c -o out | --text c: this is for one text
    translate --model {corpus}                  | not a run or model folder: it holds neither best/model.safetensors
    translate --model {trained} gone.txt        | gone.txt: there is no such file (looked in
    translate --model {trained} ""              | an argument is empty
    translate --model {trained} "" -o out       | an argument is empty
    translate --model {trained} "" a.txt -o out | an argument is empty
    translate --model {trained} {corpus}        | name the folder for its translation: -o
    translate --model {trained} a.txt -o no/out.txt | no/out.txt: cannot be written: no such file or directory
    translate --model {trained} a.txt -o {corpus} -o {corpus}/test.tsv/x | cannot be written
    translate --model {trained} --n-best 9 --beam 4 --text x | n_best must be from 1 to beam_size (4), not 9
    translate --model {trained} --sample --beam 4 --text x | beam_size=4 and sampling exclude each other
    translate --model {trained} --length-penalty 1000 | decoding.length_penalty: input should be less than
    translate --model {trained} --top-k 3 --seed 1 | --top-k 3 and --seed 1: sampling options need --sample
    translate --model {trained} --to fr --text x | this model does not translate to fr; its directions are: en-lumi
    translate --model {trained} --workers 2 a b | 2 inputs and -o (none): many files need inputs
    translate --model {trained} . . -o s3://bucket/out | -o s3://bucket/out: many files need inputs
    translate --model {trained} --n-best 2 --lines {corpus} -o out | --lines and --n-best 2: this is for lines
    translate --model {trained} --json . . -o out | --json and --n-best are for one file
    translate --model {trained} --timeout 0 . . -o out | 0 should be greater than or equal to 1
    translate --model {trained} --timeout inf . . -o out | should be less than or equal to 86400
    translate --model {trained} a.md -o b.pdf | b.pdf: would be a file in the format of .md; give -o a name with .md
    translate --model {trained} a.md -o b.json | b.json: would be a file in the format of .md
    translate --model {trained} a.md -o b.pptx | b.pptx: would be a file in the format of .md
    translate --model {trained} a.md -o out/ | out/: a document is translated into a file: -o out/a.md
    translate --model {trained} a.md -o b.md --report a.md | a.md: is the input; give -o another name
    translate --model {trained} a.md b.txt -o out | a.md: is a document, whose markup would be translated
    translate --model {trained} a.jsonl | a.jsonl: its objects are translated into a folder: give -o FOLDER/
    translate --model {trained} a.txt -o b.txt.gz | b.txt.gz: would be plain text; give -o a name without .gz
    translate --model {trained} --from en --to lumi --glossary fr.tsv a.txt | fr.tsv: its columns are en, fr, not en and
    translate --model {trained} --glossary fr.tsv a.txt | fr.tsv: its columns are en, fr, not en and
    translate --model {trained} --from en --to fr --memory a.tsv a.txt | does not translate from en to fr; its
    translate --model {trained} --workers 2 a.en gone -o out | gone: there is no such file
    translate --model {trained} --glossary gone.tsv a.en a.txt -o out | gone.tsv: cannot be read: no such file
    train --out run --max-steps 1 | learns from --train FILE (or two files); given is nothing
    train --out run             | learns from --train FILE (or two files); given is nothing
    train --out run --max-steps 1 --train | --train: name a file after it
    train --out run --max-steps 1 --train one.xlsx | one.xlsx: is a spreadsheet, which is not read as text
    train --out run --max-steps 1 --train a.en | --train a.en: a file with one language needs
    train --out run --max-steps 1 --train gone.tsv | gone.tsv: there is no such file (looked in
    train --out run --max-steps 1 --train {corpus} | is a folder; name the files
    train --out run --max-steps 1 --train latin.tsv | latin.tsv:1: not valid UTF-8 (byte 0xfc at byte 4 of the line)
    train --out run --max-steps 1 --train a.en unequal.de | unequal
    train --out run --max-steps 1 --train empty.tsv | empty.tsv: there is nothing to train on: 0 of 0 pairs kept
    train --out run --max-steps 1 --source en | --source and --target name the languages of --train and --valid
    train --out run --max-steps 1 --train a.tsv --recipe tinny | unknown recipe 'tinny'; did you mean tiny?
    train --out run --max-steps 1 --train a.tsv --recipe tiny --config a.yaml | give --recipe or --config, not both
    train --out run --max-steps 1 --config gone.yaml | gone.yaml: cannot read the configuration: No such file
    train --out run --max-steps 1 --train a.tsv --set training.sed=4 | did you mean training.seed?
    train --out run --train a.tsv --set training.max_steps=many | training.max_steps: input should be a valid integer
    train --out run --max-steps 1 --train a.tsv --set model.dropout=1 | model.dropout: input should be less than 1
    train --out run --max-steps 1 --from gone --train a.tsv | gone: there is no such model
    train --out run --max-steps 1 --train a.tsv --general a.tsv | the model to begin with is missing
    frobnicate                                  | no such command 'frobnicate'; see `limelight --help`
    translate --wrong                           | no such option: --wrong
    translate --nbest 3                         | --n-best
    export                                      | missing option '--to'. Choose from: argos, ctranslate2, huggingface,
    generate a b                                | got unexpected extra argument(s) (b); see `limelight generate --help`
    translate --model                           | option '--model' requires an argument; see `limelight translate --h
    translate --beam 0                          | invalid value for '--beam': 0 should be greater than or equal to 1
    translate --n-best x                        | invalid value for '--n-best': x should be a valid integer
    translate --set patience=-1 x y             | --set: decoding.patience: input should be greater than 0
    attention                                   | missing argument
    evaluate                                    | missing option '--test'
    train                                       | missing option '--out'
    train --out r --max-minutes 0               | training.max_minutes: input should be greater than 0
    --plugin none.py translate --text x         | none.py: a plugin is an existing Python file
    serve --glossaries . --memories .           | give two folders
    clean en-de=a.tsv en-fr=a.tsv -o c.tmx      | en-de, en-fr
    doctor --test x.tsv                         | name the training text
    doctor --compile .                          | --compile is for this machine: give no text
    translate --model {trained} a.md -o b.md --protect ( | not a valid regular expression
    translate --model {trained} --memory none.tmx "A dog." | none.tmx: there is no such file
    translate --model {trained} bird            | if it is a word to translate, write --text 'bird'
    align --model {trained} --from en --to fr a.en b.txt | this model does not translate from en to fr
    keys lend x                                 | lend
    keys list --characters-per-minute 1         | --characters-per-minute
    keys list --keys gone                       | gone
    evaluate --model {trained} --test a.tsv --metric comet | unknown metric 'comet'
    train --train a.tsv --source en --target lumi --out run --tag a.tsv=polite | 'polite' is not a side constraint: for
    train --train a.tsv --source en --target lumi --out run --tag a.tsv=domain: | 'domain:' is not a side constraint
    train --train a.tsv --source en --target lumi --out run --tag a.tsv= | '' is not a side constraint: formal
    train --train a.tsv --max-steps 1 --out run --from {trained} --set model.heads=4 | model.heads is 2 there, 4 here
    train --train a.tsv --max-steps 1 --out run --from {trained} --recipe luong | model.family is 'transformer' there,
    train --train a.tsv --out run --tag a.tsv=formal --tag a.tsv=domain:a | write FILE=NAME once for a file of --train
    train --train a.tsv --max-steps 1 --out run --recipe finetune | name its folder with --from MODEL
"""
ROWS = [tuple(part.strip() for part in row.split(" | ")) for row in MISTAKES.strip().splitlines()]


@pytest.mark.parametrize(("words", "message"), ROWS)
def test_a_mistake_is_a_line_with_the_remedy(
    words: str, message: str, limelight: Limelight, trained: Path, writing: Path, corpus: Path,
    typed: Callable[[bytes], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    files = {
        "a.tsv": "x\ty\n",
        "a.en": "a\n",
        "unequal.de": "a\nb\n",
        "empty.tsv": "",
        "a.txt": "One.",
        "b.txt": "One.",
        "a.md": "# One",
        "a.jsonl": "{}",
        "fr.tsv": "en\tfr\nhouse\tmaison\n",
    }
    for name, content in files.items():
        Path(name).write_text(content, encoding="utf-8")
    Path("latin.tsv").write_bytes(b"f\xc3\xbc\xfcr\tx\n")
    typed(b"A dog.\n")
    places = {"trained": trained, "writing": writing, "corpus": corpus, "name": trained.name}
    ended = limelight(*shlex.split(words.format(**places)))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[-1].startswith("limelight: ")
    assert message in ended.err
    left = {path.name for path in tmp_path.iterdir()} - {*files, "latin.tsv"}
    assert not {name for name in left if "left-out" not in name and name != "run"}
    assert not (tmp_path / "run" / "config.yaml").exists()


COMMANDS = ["translate --model {trained} --text x", "attention --model {trained} x", "generate --model {writing} x"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_a_device_and_threads(
    command: str, limelight: Limelight, trained: Path, writing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)  # the process of the tests keeps its own
    words = command.format(trained=trained, writing=writing).split()
    assert limelight(*words, "--device", "cpu", "--threads", 3).code == 0
    assert asked[0] == 3
    monkeypatch.setattr("limelight.storage.model.load_model", lambda *_: pytest.fail("began to work"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ended = limelight(*words, "--device", "cuda:1")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("limelight: device cuda:1: this machine, or this build of torch, has only cpu")
