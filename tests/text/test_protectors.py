"""What each protector finds, and what only looks like it."""

import time

import pytest

from limelight.formats.unit import Code, make_unit
from limelight.text.marking import FIRST_CODE, TERM_BEGIN, Protector, placeholder
from limelight.text.protectors import DEFAULT, PROTECTORS, codes, find_spans, pattern


def found(text: str, *protectors: Protector) -> list[str]:
    return [text[span.begin : span.end] for span in find_spans(text, protectors or DEFAULT)]


CASES = {
    "tags": (
        ["<b>", "</b>", "<br/>", '<a href="x>y">', "<a href='' disabled>", "<!-- a <b> -->", "<?php x ?>",
         "<!DOCTYPE html>", '<p\n class="a"\n>', '<C-x (do)="go()">', "<a {x}>", "<a %(x)s>", "<b {...x}>",
         "<a href={{ x }}>", "<1/>", '<a href="{{ x }}" {{ y }}>', "<a <%= x %>>", r'<a href=\"x\">'],
        ["a < b > c", "x<y and y>z", "<3", "a <b and c> d", "< b>", "<1>", '<a href="x', "<your name here>"],
    ),
    "entities": (["&nbsp;", "&#160;", "&#xA0;"], ["&;", "R&1;", "&longerthananyentitythatthereeveris;"]),
    "templates": (
        ["{{ x | upper }}", "{{{x}}}", "{{- x }}", "{{#if x}}", "{{/if}}", "{{else}}", "{{!-- x --}}",
         "{{ x | translate: {a: b} }}", "{%- x -%}", "{# x #}", "{!! $x !!}", "<%= x %>", "<?php echo $x->y ?>"],
        ["{x}", "{a} {b}", "{{", "{%", "<% x"],
    ),
    "variables": (
        ["{x}", "{0:.2f}", "{user.name!r}", "{}", "${x}", "%{x}", "~{x}", "{x!r:>10}", "{/link}", "{#if x}", "{...x}",
         '{"x"}', "{ $x }", '{ -term(case: "x") }', "{ NUMBER($x) }", '{n > 1 ? "dogs" : "dog"}', "{user.name || x}",
         "{ $n -> [one] dog *[other] dogs }", "{a.b ?? 'the dog'}", "{total - 1}", "{x.toFixed(2)}", "${file%.txt}",
         "${#a[@]}", "${VAR:=default value}"],
        ["{a b}", "{a, b}", "{", "{laughs loudly}", "{1, 2}", "{is it?}", "{he (Tom) laughs}", "{well - he runs}"],
    ),
    "printf": (
        ["%s", "%5.2f", "%-3d", "%lu", "%(name)s", "%2$d", "%@", "%L2", "%%", "%#@dogs@", "%<x>.2f", "%'d"],
        ["100% sure", "50%ig", "5 % der", "%z", "100 % sure", "%50 off", "der %-Satz"],
    ),
    "nested": (["$t(a.b, {x})", "$t(a(b)c)"], ["$t", "$t(", "t(x)"]),
    "messages": (
        ["{d, date, short}", "{n, choice, 0#none|1#one {x}}", "{n, number}"],
        ["{n, plural, one {a}", "{n, plural, one {a} ?}", "{n}", "{a, b}", "#"],
    ),
    "addresses": (["https://a.org/b?c={d}", "me@a.org", "www.a.org", "a.org", "<me@a.org>"], ["a.b", "at@", "e.g."]),
    "escapes": ([r"\n", r"\u00a0", r"\x41", r"\\", r"\alpha"], ["a/b", "x\\", r"don\'t"]),
    "math": (["$x^2$", "$x$", r"\(x\)", "$$x + y$$"], ["$5 and $6", "5$ or 6$.", "US$ and A$", "${a}</b> = ${b}"]),
    "names": (
        ["$name", "$a->b", "%PATH%", "#x#", "@PREFIX@", "|name|", "@@PH1@@", "__X1__", "[[name]]", "[X12X]", "@:a.b",
         "%1", ":smile:", "`x y`", ":ref:`x`", "--dry-run", "--x=1", "a.b()", "t('x')", '$(dirname "$(pwd)")'],
        ["price $5", "%5 of it", "US$(5)", "50%", "e.g.:name", "a|b", "dog(s)", "1-2", "well - then", "C#", "#1",
         "no. 5:30", "a_b", "[1]", "it -- is", "@me", ":-)", "and/or", "he (she)", "'tis", "No!! Stop!!", "!!Now!!"],
    ),
    "paths": (
        ["/usr/bin", "~/file.txt", "../x/y", r"C:\Windows\x.txt", r"\\host\share", "src/main.c", "notes.txt"],
        ["and/or", "C:\\", "1/2", "he/she", "/", "km/h", "a.b", "3/4 cup", "/ or /", "yes/no/maybe", "5 €/month"],
    ),
    "brackets": ([], ["[b]", "[door bell]", "]]", "a [b] c"]),
}  # fmt: skip


def test_every_protector_has_cases() -> None:
    assert set(CASES) == set(PROTECTORS)


@pytest.mark.parametrize("name", CASES)
def test_what_is_found_and_what_is_not(name: str) -> None:
    spans, others = CASES[name]
    protector = PROTECTORS[name]
    for span in spans:
        assert found(span, protector) == [span]
        assert found(f"see {span} now", protector) == [span]
    for other in others:
        assert found(other, protector) == [], other


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("<b>x</b>", ["open", "close"]),
        ("<hr>x<hr/>", ["alone", "alone"]),
        ("<BR>x<br/>", ["break", "break"]),
        (r"x\ny\tz\r\n", ["break", "alone", "break", "break"]),
        ("<0>x</0><1>", ["open", "close"]),
        ("<a x>y</a> <b x>", ["open", "close"]),
        ("{{#if x}}a{{else}}b{{/if}}", ["open", "break", "close"]),
        ("{% for x in y %}a{% endfor %}", ["open", "close"]),
        ("{link}a{/link} {{link}}b{{/link}} {x}", ["open", "close", "open", "close", "alone"]),
        ("[b]a[/b] [url=x]c[/url] [d]", ["open", "close", "open", "close"]),
        ("[[page|text]] ]]", ["open", "close"]),
        ("{n, plural, offset:1 =0 {none} other {# '{' x}}", ["break", "break", "alone", "alone", "break"]),
        ("{a,select,x{the {n, plural, other {#}}} other{now}}", ["break", "break", "alone", *["break"] * 3]),
        ("%s %(a)s %1$s %% {} {:>3} {a} {0}", ["sequential", *["alone"] * 3, *["sequential"] * 2, "alone", "alone"]),
    ],
)
def test_roles(text: str, roles: list[str]) -> None:
    assert [span.role for span in find_spans(text, DEFAULT)] == roles


def test_of_overlapping_spans_the_first_wins_and_then_the_longest() -> None:
    assert found('<a href="{url}">{x}</a>') == ['<a href="{url}">', "{x}", "</a>"]
    assert found("{{x}} {n, plural, other {{x} is <b>{n}</b>}} {y}") == [
        "{{x}}", "{n, plural, other {", "{x}", "<b>", "{n}", "</b>", "}}", "{y}",
    ]  # fmt: skip
    assert found("https://a.org/{id}/%s, or %s") == ["https://a.org/{id}/%s", "%s"]
    assert found("Orla-7 {x}", *DEFAULT, pattern(r"[A-Z]\w+-\d")) == ["Orla-7", "{x}"]


def test_characters_of_marks_are_always_spans() -> None:
    assert found(f"a{placeholder(3)}b{TERM_BEGIN}", pattern("b")) == [placeholder(3), "b", TERM_BEGIN]


PIECES = [
    "<a ", 'b="', "='", "<!--", "{", "}", "{n, plural,", "$t(", "(", "%0", "0", " ", "a", "@", ".", "-", "&", "www.",
    "\\", "\\textbf{", "\\a[", "<%", "{{", "{%", "{#", "{x}", "{/x}", "`", "|", "|a", "/", "a/", "a.", "a::", "$", "$a",
    "[[", "[b", "[/b]", "a(", "--a", ":a", "%a", "#a", "\\(", "C:\\a", "<1", "<a {", "_", "~", "{a b", "{$", "&a", "x ",
    "*./", "{{a}}",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_does_not_hold_up_a_protector(piece: str) -> None:
    text, began = piece * (20_000 // len(piece)), time.process_time()
    found(f"{text} {{x}}")
    assert time.process_time() - began < 1  # more in quadratic time


def test_a_long_path_in_a_variable_takes_linear_time() -> None:
    began = time.process_time()
    assert found(f"$a.{'b' * 150_000}$") == ["$a"]
    assert time.process_time() - began < 3


@pytest.mark.parametrize("piece", [" b=1{x}", " open", " open{x}"])
def test_a_tag_without_an_end_is_read_in_one_way(piece: str) -> None:
    """One with two readings of each attribute would take exponential time."""
    assert not any(each.startswith("<") for each in found(f"<a{piece * 40} <"))
    assert found(f"<a{piece} c='2'>x</a>")[0] == f"<a{piece} c='2'>"


def test_no_span_tears_a_pair_of_codes_apart() -> None:
    opened, closed, alone = Code("[", "open", "a"), Code("](x)", "close", "a"), Code("<br>")
    parts = [opened, "https://a.org/b", closed, "{x ", opened, "y", closed, "}", alone, "key", opened, "y z", closed]
    unit = make_unit(parts, lambda new: [], 1)
    protectors = [
        codes([(code.role, code.name) for code in unit.codes]),
        *DEFAULT,
        pattern("k[^ ]+"),
        pattern(r"\{x [^ ]+\}"),
    ]
    spans = [unit.text[span.begin : span.end] for span in find_spans(unit.text, protectors)]
    marks = [chr(FIRST_CODE + number) for number in range(7)]
    assert spans == [
        marks[0], "https://a.org/b", marks[1], f"{{x {marks[2]}y{marks[3]}}}", marks[4], marks[5], marks[6]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("共%1个文件，%2", ["%1", "%2"]),
        ("%1×%2 px", ["%1", "%2"]),
        ("%L1 of %2 files", ["%L1", "%2"]),
        ("%50 off", []),
        ("From $1.50 to $2, or $1,000 and $5", []),
        ("$1 and $2", ["$1", "$2"]),
        ("das %-Symbol", []),
    ],
)
def test_arguments_of_qt_count_from_one(text: str, spans: list[str]) -> None:
    assert found(text) == spans
