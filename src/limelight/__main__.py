"""`python -m limelight` is `limelight`."""

from limelight.cli import main

if __name__ == "__main__":
    main()
