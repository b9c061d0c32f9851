"""A further process of `limelight train`, started by the first one (`training/processes.py`); not a command."""

import json
import sys
import time
from pathlib import Path

from limelight.cli.outcome import exit_code
from limelight.errors import RunError, UserError
from limelight.memory import hold_memory_for_work
from limelight.signals import Stopped

REPORTS_FIRST = 1.0
"""Seconds before this process reports its own fault: one that all processes have is reported by the first, which then
ends this one."""


def main(folder: str, place: str) -> None:
    """Train with the first process until it ends."""
    hold_memory_for_work()
    from limelight.training.distributed import PeerEndedError
    from limelight.training.processes import Place, end_with_first, joined_first
    from limelight.training.run import follow

    end_with_first()
    try:
        with joined_first(Place(*json.loads(place))) as group:
            follow(Path(folder), group)
    except (PeerEndedError, Stopped):
        raise SystemExit(1) from None  # the first process reports it
    except (UserError, RunError, OSError, RuntimeError, MemoryError):
        time.sleep(REPORTS_FIRST)
        raise


if __name__ == "__main__":
    sys.exit(
        exit_code(
            lambda: main(*sys.argv[1:3]),
            with_less_memory="Fewer processes need less: training.processes",
        )
    )
