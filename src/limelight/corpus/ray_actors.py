"""Workers that are actors of Ray: on one machine, or on all of a cluster.

The pool is ours (`corpus/pool.py`), not Ray Data: there a row that ends its process is retried without end, a
bad row may take all others with it, and order is lost (docs/corpus.md).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from limelight.corpus.pool import Start, WorkerEnded
from limelight.corpus.worker import Outcome, WorkerSettings, open_texts
from limelight.errors import UserError

STORE = 100 * 2**20
"""Bytes of the object store of a Ray that is started here: texts of a few chunks for each worker."""


def actors(settings: WorkerSettings, *, workers: int, gpus: float = 0) -> Start:
    """A function that starts workers that are actors. If the environment names a cluster (`RAY_ADDRESS`) they are in
    it, otherwise in a Ray that is started here, with the CPUs that `workers` need, and ends with this process. `gpus`
    is the number of GPUs of an actor."""
    if not ray.is_initialized():
        starts_ray = not os.environ.get("RAY_ADDRESS")
        resources = {"num_cpus": workers * settings.threads, "object_store_memory": STORE} if starts_ray else {}
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="warning", **resources)
    actor_class = ray.remote(num_cpus=settings.threads, num_gpus=gpus, max_restarts=0)(Texts)

    def start(number: int) -> Actor:
        actor = Actor(actor_class.remote())
        actor.get(None, "load", settings, number)
        return actor

    return start


class Texts:
    """The work of an actor. Ray shows each actor its own GPUs alone."""

    def load(self, settings: WorkerSettings, number: int) -> None:
        """Load the model."""
        self._translate = open_texts(settings, number)

    def translate(self, texts: list[str], first: int) -> list[Outcome]:
        """The outcome of each text."""
        return self._translate(texts, first)


class Actor:
    """A worker that is an actor."""

    def __init__(self, actor: ray.actor.ActorHandle) -> None:
        self._actor = actor

    def ask(self, texts: Sequence[str], first: int, timeout: float) -> list[Outcome]:
        return list(self.get(timeout, "translate", list(texts), first))

    def get(self, timeout: float | None, method: str, *arguments: object) -> Any:
        """The result of a method. Raises `WorkerEnded`, and `UserError` of the method."""
        try:
            return ray.get(getattr(self._actor, method).remote(*arguments), timeout=timeout)
        except GetTimeoutError:
            raise WorkerEnded(f"no answer after {timeout:g} s") from None
        except RayError as error:
            if isinstance(error, RayTaskError) and isinstance(error.cause, UserError):
                raise UserError(str(error.cause)) from None
            raise WorkerEnded(f"{str(error).strip()[:200] or type(error).__name__}".splitlines()[0]) from None

    def close(self) -> None:
        ray.kill(self._actor)
