"""What an engine does before it reports that it is ready: a few sentences, so that no request waits for a compilation.

Kernels are compiled when they are first called (a minute on a slow CPU, where no cache has them), and weights are read
from the disk when they are first used.
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

FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("translate", {}),
    ("translate", {"beam_size": 1}),
    ("translate", {"beam_size": 4, "n_best": 2}),
    ("translate", {"sampling": {"top_k": 5, "seed": 1}}),
    ("protected", {"terms": [("house", "house")]}),
)
"""What requests ask for: searches of every kind, side by side, and a sentence with a term."""


def warm_up(pipeline: Translator | TextGenerator | MaskFiller) -> None:
    """Do each kind of work once. What comes of it is thrown away, also where the model refuses it."""
    if isinstance(pipeline, Translator):
        source, target = pipeline.directions[0] if pipeline.directions else ("", "")
        languages = {"source_lang": source, "target_lang": target}
        tasks = [(kind, SENTENCE, {**languages, **options}) for kind, options in FORMS]
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
