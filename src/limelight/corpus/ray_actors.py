"""The driver's side of workers that are actors of Ray: on one machine, or on all of a cluster.

The pool is ours (`corpus/pool.py`), not that of Ray Data: there a row that ends its process is retried without end, a
bad row may take all others with it, and order is lost (docs/corpus.md).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from limelight.corpus.pool import ENDED, Worker, WorkerEnded
from limelight.corpus.worker import Outcome, WorkerSettings, open_texts
from limelight.errors import RunError, UserError

STORE = 100 * 2**20
"""Bytes of the object store of a Ray that is started here: texts of a few chunks for each worker."""


class Actors:
    """Starts actors. Where the environment names a cluster (`RAY_ADDRESS`) they are in it, else in a Ray that is
    started here and ends with `close`.

    Args:
        workers: how many there will be; a Ray that is started here has so many times the threads of each as its CPUs.
        gpus: of each actor.
    """

    def __init__(self, settings: WorkerSettings, *, workers: int, gpus: float = 0) -> None:
        self._settings = settings
        self._owns = not ray.is_initialized()
        if self._owns:
            here = not os.environ.get("RAY_ADDRESS")
            own = {"num_cpus": workers * settings.threads, "object_store_memory": STORE} if here else {}
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="warning", **own)
        self._class = ray.remote(num_cpus=settings.threads, num_gpus=gpus, max_restarts=0)(Texts)

    def start(self, number: int) -> Worker:
        """Start an actor. Raises `UserError` for a model that is not available, `RunError` if an actor ends while it
        loads."""
        actor = self._class.remote(self._settings)
        try:
            ray.get(actor.load.remote(number))
        except RayTaskError as error:
            if isinstance(error.cause, UserError):
                raise UserError(str(error.cause)) from None
            raise RunError(f"an actor could not load the model: {error.cause}") from None
        except RayError as error:
            raise RunError(f"an actor ended while it loaded the model: {_first_line(error)}") from None
        return _Actor(actor)

    def close(self) -> None:
        """End Ray where it was started here."""
        if self._owns:
            ray.shutdown()


class Texts:
    """The work of an actor."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings

    def load(self, number: int) -> None:
        """Load the model. Ray shows each actor its own GPUs alone."""
        self._translate = open_texts(self._settings, number)

    def translate(self, texts: list[str], first: int) -> list[Outcome]:
        """The outcome of each text."""
        return self._translate(texts, first)


class _Actor:
    def __init__(self, actor: ray.actor.ActorHandle) -> None:
        self._actor = actor

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        try:
            return list(ray.get(self._actor.translate.remote(list(texts), first), timeout=timeout))
        except GetTimeoutError:
            raise WorkerEnded(f"{ENDED}had no answer after {timeout:g} s") from None
        except RayError as error:
            raise WorkerEnded(f"{ENDED}ended ({_first_line(error)})") from None

    def close(self) -> None:
        ray.kill(self._actor)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
