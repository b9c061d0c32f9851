"""How fast a queue is worked off."""

from limelight.serving.pace import FEWEST, RECENT, Pace


def test_the_pace_is_that_of_the_last_items_until_now() -> None:
    pace = Pace()
    for number in range(FEWEST):
        assert pace.seconds(number) == 0, "too few to tell"
        pace.taken(number)
    assert pace.seconds(FEWEST) == 1
    assert pace.seconds(10 * FEWEST) == 10, "nothing is taken any more"
    for number in range(RECENT):
        pace.taken(1000 + number / 2)
    assert pace.seconds(1000 + RECENT / 2) == 0.5


def test_an_idle_queue_has_no_pace() -> None:
    pace = Pace()
    for number in range(FEWEST):
        pace.taken(number)
    pace.nothing_waits()
    assert pace.seconds(10_000) == 0
