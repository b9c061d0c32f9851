"""Classifiers beside logistic regression on bags of words, on labels that can be made from real text.

    python -m benchmarks.classify --multi30k MULTI30K --tatoeba TATOEBA

MULTI30K holds `train.en.gz`; TATOEBA `en-de.train.tsv.gz` and `en-fr.train.tsv.gz`, a sentence of each language a line.

| task     | labels                                                                                       |
|----------|----------------------------------------------------------------------------------------------|
| language | en, de, fr: the language of an everyday sentence                                             |
| caption  | caption, everyday: whether an English sentence describes a picture                           |
| question | question, statement: what an English sentence was before its last mark was taken away        |
| few      | the same with a thousand texts to learn from                                                 |

Labels are equally frequent, and no text stands in two parts. The regression sees which words a text has (`words`), or
which words and pairs of neighbors (`pairs`); its decay is chosen by the texts for validation. The classifier is the
recipe of that name; `begun` begins with a masked model (`bert-tiny`) of sentences that are in no part.
"""

import gzip
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from torch import Tensor, nn

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from limelight.config import Corpus, RunConfig, override
from limelight.evaluation.labels import evaluate_labels, score_labels
from limelight.memory import hold_memory_for_work
from limelight.models.families import count_parameters
from limelight.pipelines.load import load_classifier
from limelight.recipes import find_recipe
from limelight.text.pair import Pair
from limelight.training.run import train

SIZES = {"train": 12_000, "valid": 2_000, "test": 4_000}
FEW = 1_000
DECAYS = (0.0, 1e-4, 1e-3, 1e-2)
EPOCHS = 20

Rows = list[tuple[str, str]]
"""Texts with their labels."""


class Parts(NamedTuple):
    """A task: what is learned from, what is chosen by, what is measured."""

    train: Rows
    valid: Rows
    test: Rows


def main(
    multi30k: Annotated[Path, typer.Option(help="Folder with the files of Multi30k.")],
    tatoeba: Annotated[Path, typer.Option(help="Folder with pairs of Tatoeba.")],
    steps: Annotated[int, typer.Option(help="Updates of each classifier.", min=1)] = 600,
    masked_steps: Annotated[int, typer.Option(help="Updates of the masked model.", min=1)] = 1500,
    results: Annotated[Path, typer.Option(help="Folder for classify.json.")] = RESULTS,
) -> None:
    """Train, measure, print, write down."""
    hold_memory_for_work()
    sentences = read_sentences(multi30k, tatoeba)
    tasks, unused = make_tasks(sentences, SIZES)
    measured: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task, parts in tasks.items():
            for longest, way in ((1, "words"), (2, "pairs")):
                measured.append({"task": task, "way": way, **regression(parts, longest)})
            measured.append({"task": task, "way": "classifier", **classifier(parts, folder / task, steps)})
            _tell(measured[-3:])
        masked = masked_model(unused, folder / "masked", masked_steps)
        measured.append({"task": "few", "way": "begun", **classifier(tasks["few"], folder / "begun", steps, masked)})
        _tell(measured[-1:])
    head = ["task", "way", "accuracy", "macro-F1", "parameters", "seconds"]
    keys = [cell.replace("-", "_").lower() for cell in head]
    printed = table(head, [[_rounded(each[key]) for key in keys] for each in measured])
    result = {
        "benchmark": "classifiers beside bags of words",
        "command": "python -m benchmarks.classify --multi30k MULTI30K --tatoeba TATOEBA "
        f"--steps {steps} --masked-steps {masked_steps}",
        "machine": describe_machine(),
        "texts": SIZES | {"few": FEW},
        "measured": measured,
        "table": printed,
    }
    write_result("classify", result, folder=results)
    print(printed)


def read_sentences(multi30k: Path, tatoeba: Path) -> dict[str, list[str]]:
    """Sentences by kind: `caption`, and everyday ones by language, without repetitions."""
    found: dict[str, set[str]] = {"caption": set(_lines(multi30k / "train.en.gz")), "en": set()}
    for other in ("de", "fr"):
        pairs = [line.split("\t") for line in _lines(tatoeba / f"en-{other}.train.tsv.gz")]
        found["en"] |= {pair[0] for pair in pairs}
        found[other] = {pair[1] for pair in pairs}
    shared = Counter(sentence for sentences in found.values() for sentence in sentences)
    return {kind: sorted(each for each in sentences if shared[each] == 1) for kind, sentences in found.items()}


def make_tasks(sentences: dict[str, list[str]], sizes: dict[str, int]) -> tuple[dict[str, Parts], list[str]]:
    """The tasks, and the English everyday sentences that none of them has."""
    english = sentences["en"]
    questions, statements = ([text[:-1].rstrip() for text in english if text.endswith(mark)] for mark in "?.")
    question = {
        "question": sorted(set(questions) - set(statements)),
        "statement": sorted(set(statements) - set(questions)),
    }
    tasks = {
        "language": divide({language: sentences[language] for language in ("en", "de", "fr")}, sizes),
        "caption": divide({"caption": sentences["caption"], "everyday": english}, sizes),
        "question": divide(question, sizes),
    }
    tasks["few"] = tasks["question"]._replace(train=tasks["question"].train[:FEW])
    seen = {text for parts in tasks.values() for rows in parts for text, _ in rows}
    return tasks, [text for text in english if text not in seen and text[:-1].rstrip() not in seen]


def divide(by_label: dict[str, list[str]], sizes: dict[str, int], seed: int = 1) -> Parts:
    """As many texts of each label, in three parts of these sizes, in random order."""
    chance, each = random.Random(seed), sum(sizes.values()) // len(by_label)
    rows = [(text, label) for label, texts in by_label.items() for text in chance.sample(texts, each)]
    chance.shuffle(rows)
    first, second = sizes["train"], sizes["train"] + sizes["valid"]
    return Parts(rows[:first], rows[first:second], rows[second:])


def words_of(text: str, longest: int) -> set[str]:
    """The words and marks of a text, in lower case; with `longest` 2 each pair of neighbors, too."""
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    pairs = [f"{one} {other}" for one, other in zip(["", *words], [*words, ""], strict=True)]
    return {*words, *(pairs if longest > 1 else [])}


class Bags(nn.Module):
    """Multinomial logistic regression: for each label the sum of the weights of a text's words, and a bias."""

    def __init__(self, words: int, labels: int) -> None:
        super().__init__()
        self.weight = nn.EmbeddingBag(words, labels, mode="sum")
        nn.init.zeros_(self.weight.weight)
        self.bias = nn.Parameter(torch.zeros(labels))

    def forward(self, bags: Sequence[Tensor]) -> Tensor:
        """(bags, labels) logits."""
        starts = torch.tensor([0, *(len(bag) for bag in bags[:-1])]).cumsum(0)
        return self.weight(torch.cat(list(bags)), starts) + self.bias


def regression(parts: Parts, longest: int) -> dict[str, Any]:
    """Fit it with each decay, keep what is best on the texts for validation, and measure that."""
    began = time.monotonic()
    counts = Counter(word for text, _ in parts.train for word in words_of(text, longest))
    numbers = {word: number for number, word in enumerate(sorted(word for word, count in counts.items() if count > 1))}
    labels = sorted({label for _, label in parts.train})

    def encoded(rows: Rows) -> tuple[list[Tensor], Tensor]:
        bags = [torch.tensor(sorted(numbers[word] for word in words_of(text, longest) if word in numbers),
                             dtype=torch.int64) for text, _ in rows]  # fmt: skip
        return bags, torch.tensor([labels.index(label) for _, label in rows])

    train_part, valid_part, test_part = map(encoded, parts)
    fitted = [fit(train_part, len(numbers), len(labels), decay) for decay in DECAYS]
    best = max(fitted, key=lambda model: _accuracy(model, valid_part))
    seconds = time.monotonic() - began
    with torch.inference_mode():
        given = best(test_part[0]).argmax(dim=1).tolist()
    scores = score_labels(labels, test_part[1].tolist(), given)
    size = sum(weight.numel() for weight in best.parameters())
    return {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1, "parameters": size, "seconds": seconds}


def fit(part: tuple[list[Tensor], Tensor], words: int, labels: int, decay: float) -> Bags:
    """Adam over batches of 250, with a rate that falls to nothing; `decay` is that of the squared weights."""
    bags, truth = part
    model, order = Bags(words, labels), torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.0)
    for epoch in range(EPOCHS):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - epoch / EPOCHS)
        for rows in torch.randperm(len(bags), generator=order).split(250):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model([bags[row] for row in rows]), truth[rows])
            (loss + decay * model.weight.weight.square().sum()).backward()
            optimizer.step()
    return model


def _accuracy(model: Bags, part: tuple[list[Tensor], Tensor]) -> float:
    with torch.inference_mode():
        return float((model(part[0]).argmax(dim=1) == part[1]).double().mean())


def classifier(parts: Parts, folder: Path, steps: int, masked: Path | None = None) -> dict[str, Any]:
    """Train the recipe, from a masked model where one is given, and measure it as `limelight evaluate` does."""
    folder.mkdir()
    corpora = {part: (Corpus(files=(_written(rows, folder / f"{part}.tsv"),)),)
               for part, rows in (("train", parts.train), ("valid", parts.valid))}  # fmt: skip
    config = _bounded(find_recipe("classifier"), steps)
    settings = ["training.validate_every=50", "training.patience=20", *([f"begin_with={masked}"] if masked else [])]
    config = override(config.model_copy(update={"data": config.data.model_copy(update=corpora)}), settings)
    began = time.monotonic()
    train(config, folder / "run", quiet=True)
    seconds = time.monotonic() - began
    classifier = load_classifier(folder / "run")
    pairs = [Pair(text, label, "test", number) for number, (text, label) in enumerate(parts.test, start=1)]
    found = evaluate_labels(classifier, pairs).scores
    size = count_parameters(classifier.model)
    return {"accuracy": found.accuracy, "macro_f1": found.macro_f1, "parameters": size, "seconds": seconds}


def masked_model(sentences: Sequence[str], folder: Path, steps: int) -> Path:
    """A masked model of sentences that no task has."""
    folder.mkdir()
    (folder / "text.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    config = _bounded(find_recipe("bert-tiny"), steps)
    data = config.data.model_copy(update={"text": (str(folder / "text.txt"),), "held_out": 0.02})
    train(config.model_copy(update={"data": data}), folder / "run", quiet=True)
    return folder / "run"


def _bounded(config: RunConfig, steps: int) -> RunConfig:
    """By updates instead of minutes: the same on every machine."""
    bounds = [f"training.max_steps={steps}", "training.max_minutes=null", "training.fit_to_budget=false"]
    return override(config, bounds)


def _written(rows: Rows, path: Path) -> str:
    path.write_text("".join(f"{text}\t{label}\n" for text, label in rows), encoding="utf-8")
    return str(path)


def _lines(path: Path) -> Iterable[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line.strip()]


def _rounded(value: object) -> object:
    return f"{value:.2f}" if isinstance(value, float) else value


def _tell(measured: Iterable[dict[str, Any]]) -> None:
    for each in measured:
        print(f"{each['task']}, {each['way']}: accuracy {each['accuracy']:.2f}", flush=True)


if __name__ == "__main__":
    typer.run(main)
