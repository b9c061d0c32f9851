"""Marked text for messages of tests."""

from limelight.text.marking import FORMALITY_MARKS, MARK, mark_number


def show_marks(text: str) -> str:
    """Marked text for display: each mark as its token, such as `<ph0>`."""
    tags = {mark: f"<{name}>" for name, mark in FORMALITY_MARKS.items()}
    return MARK.sub(lambda match: tags.get(match[0], f"<ph{mark_number(match[0])}>"), text)
