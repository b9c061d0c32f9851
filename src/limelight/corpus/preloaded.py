"""Imported by the fork server of `corpus/pool.py`: loads the model once, for all workers that are forked from it."""

import gc
import os
from contextlib import suppress

from limelight.corpus.worker import SETTINGS, opened

if SETTINGS in os.environ:
    with suppress(Exception):  # raised again by the worker, which tells the driver
        opened(os.environ[SETTINGS], 0)
    gc.freeze()
