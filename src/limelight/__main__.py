"""Entry point of `limelight` and of `python -m limelight`."""

from limelight.signals import end_on_interrupt


def main() -> None:
    """Run the command line."""
    end_on_interrupt()  # the imports below take a second
    from limelight.cli import main as run

    run()


if __name__ == "__main__":
    main()
