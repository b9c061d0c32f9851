"""What differs between two trees of plain values, by its full name."""

from limelight.resumable import describe_differences, differences


def test_every_difference_has_its_full_name() -> None:
    old = {"a": 1, "b": {"c": [1, 2], "d": {"e": None}}, "gone": 3}
    new = {"a": 1, "b": {"c": [2, 1], "d": {"e": 0}}, "new": {"f": 4}}
    found = differences(old, new)
    assert found == [("b.c", [1, 2], [2, 1]), ("b.d.e", None, 0), ("gone", 3, None), ("new", None, {"f": 4})]
    assert describe_differences(found[:2]) == "b.c is [1, 2] there, [2, 1] here; b.d.e is None there, 0 here"


def test_what_is_equal_has_none() -> None:
    assert differences({"a": {"b": [1]}}, {"a": {"b": [1]}}) == []
    assert describe_differences([]) == ""
