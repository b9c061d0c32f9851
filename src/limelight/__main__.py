"""Entry point of `limelight` and of `python -m limelight`."""

import sys

from limelight.signals import end_on_interrupt


def main() -> None:
    """Run the command line."""
    end_on_interrupt()  # the imports below take a second
    from limelight.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
