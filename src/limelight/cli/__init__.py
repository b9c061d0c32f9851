"""The command line: one thin file per command."""

from limelight.cli.app import main

__all__ = ["main"]
