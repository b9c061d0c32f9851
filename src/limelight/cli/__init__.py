"""The command line: one thin file per verb."""

from limelight.cli.app import main

__all__ = ["main"]
