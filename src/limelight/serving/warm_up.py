"""Translate a few sentences before an engine reports that it is ready, so that no request waits for a compilation.

Kernels are compiled at their first call (up to a minute on a slow CPU without a cache of them), and weights are read
from disk at their first use.
"""

from queue import SimpleQueue
from typing import Any

from limelight.pipelines.generator import TextGenerator
from limelight.pipelines.mask_filler import MaskFiller
from limelight.pipelines.translator import Translator
from limelight.serving.tasks import Report, Task
from limelight.serving.text_worker import TextWorker
from limelight.serving.worker import Worker

SENTENCE = "A dog runs to the house."

LONG = " ".join([SENTENCE[:-1]] * 20)
"""More tokens than the kernels for short sentences take."""

FORMS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("translate", SENTENCE, {}),
    ("translate", SENTENCE, {"beam_size": 1}),
    ("translate", SENTENCE, {"beam_size": 4, "n_best": 2}),
    ("translate", SENTENCE, {"sampling": {"top_k": 5, "seed": 1}}),
    ("protected", SENTENCE, {"terms": [("house", "house")]}),
    ("translate", LONG, {"beam_size": 4, "n_best": 2}),
)
"""Every kind of search, a sentence with a term, and a long one."""


def warm_up(pipeline: Translator | TextGenerator | MaskFiller) -> None:
    """Do each kind of work once. Results and errors are discarded."""
    if isinstance(pipeline, Translator):
        source, target = pipeline.directions[0] if pipeline.directions else ("", "")
        languages = {"source_lang": source, "target_lang": target}
        tasks = [(kind, text, {**languages, **options}) for kind, text, options in FORMS]
    elif isinstance(pipeline, TextGenerator):
        tasks = [("write", SENTENCE, {"max_tokens": 4})]
    else:
        tasks = [("fill", SENTENCE, {})]
    # The first one alone, as on a service that has little to do; the others side by side.
    _done(pipeline, tasks[:1])
    _done(pipeline, tasks[1:])


def _done(pipeline: Translator | TextGenerator | MaskFiller, tasks: list[tuple[str, str, dict[str, Any]]]) -> None:
    if not tasks:
        return
    inbox: SimpleQueue[Task | None] = SimpleQueue()
    left = len(tasks)

    def heard(report: Report) -> None:
        nonlocal left
        left -= report.kind != "partial"
        if not left:
            inbox.put(None)

    for number, task in enumerate(tasks):
        inbox.put(Task(number, *task))
    worker = Worker(pipeline, heard) if isinstance(pipeline, Translator) else TextWorker(pipeline, heard)
    worker.run(inbox)
