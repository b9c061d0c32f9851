"""Entry point of `python -m limelight`."""

from limelight.cli import main

if __name__ == "__main__":
    main()
