"""`python -m limelight.serving.engine_process LOADING`: one engine, for the service that started it.

Tasks come as lines on standard input, reports go as lines to standard output. It ends when the input does; signals that
a terminal or a service manager sends to all processes are for the service, which drains first.
"""

import json
import os
import signal
import sys
import threading
from queue import SimpleQueue
from typing import BinaryIO

from limelight.decoding.ahead import compile_aside
from limelight.errors import RunError, UserError
from limelight.memory import hold_memory_for_work, rare_collections
from limelight.pipelines.scheduler import SWITCH
from limelight.serving.load import Loading, load_worker
from limelight.serving.logs import Log, log_warnings
from limelight.serving.tasks import Report, Task, decode_task, encode


def main() -> None:
    """Serve one model until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # What libraries print must not come between the reports.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    inbox: SimpleQueue[Task | None] = SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, inbox), daemon=True).start()
    hold_memory_for_work()
    sys.setswitchinterval(SWITCH)
    log, loading = Log(), Loading(**json.loads(sys.argv[1]))
    log_warnings(log)
    if loading.device in (None, "auto", "cpu"):
        compile_aside(lambda message: log("compiling", message=message))
    reason = _work(loading, inbox, out)
    _write(out, Report(0, "closed", reason))
    os._exit(0)  # nothing is to be saved, and no thread of a library is waited for


def _work(loading: Loading, inbox: SimpleQueue[Task | None], out: BinaryIO) -> str:
    """Returns why it ended early, if it did."""
    try:
        worker = load_worker(loading, lambda report: _write(out, report))
        with rare_collections():
            worker.run(inbox)
    except (UserError, RunError) as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _read(lines: BinaryIO, inbox: SimpleQueue[Task | None]) -> None:
    for line in lines:
        inbox.put(decode_task(line))
    inbox.put(None)


def _write(out: BinaryIO, report: Report) -> None:
    """Called by two threads: each `write` of a buffered file is whole, and the line is made outside of its lock."""
    try:
        out.write(encode(report))
        out.flush()
    except OSError:  # the service is gone
        os._exit(1)


if __name__ == "__main__":
    main()
