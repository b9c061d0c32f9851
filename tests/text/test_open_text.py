"""Opening: the same bytes whatever the compression, damage is noticed, mistakes are named."""

import builtins
import gzip
import lzma
import os
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from limelight.errors import UserError
from limelight.text.open_text import DAMAGE, open_text, require_file, text_suffix

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def noise(seed: int, size: int) -> bytes:
    """Bytes that compress, but not to nothing."""
    generator = random.Random(seed)
    return b"".join(generator.choice([b"one ", b"two\n", generator.randbytes(3)]) for _ in range(size))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_every_compression_reads_the_same(suffix: str, tmp_path: Path, seed: int) -> None:
    content = noise(seed, 70_001)
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](content))
    with open_text(path) as stream:
        assert stream.read() == content


@pytest.mark.parametrize("suffix", COMPRESS)
def test_small_reads_add_up(suffix: str, tmp_path: Path, seed: int) -> None:
    content = noise(seed, 5_003)
    path = tmp_path / f"text{suffix.upper()}"
    path.write_bytes(COMPRESS[suffix](content))
    with open_text(path) as stream:
        assert b"".join(iter(lambda: stream.read(97), b"")) == content


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_archives_one_after_another_are_one_text(suffix: str, tmp_path: Path) -> None:
    """What `cat a.gz b.gz > c.gz` and parallel compressors write."""
    path = tmp_path / f"text{suffix}"
    path.write_bytes(COMPRESS[suffix](b"one\n") + COMPRESS[suffix](b"") + COMPRESS[suffix](b"two\n"))
    with open_text(path) as stream:
        assert stream.readlines() == [b"one\n", b"two\n"]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("kept", [0.999, 0.5, 0.1])
def test_a_truncated_archive_raises(suffix: str, kept: float, tmp_path: Path, seed: int) -> None:
    whole = COMPRESS[suffix](noise(seed, 20_011))
    path = tmp_path / f"text{suffix}"
    path.write_bytes(whole[: int(len(whole) * kept)])
    with open_text(path) as stream, pytest.raises(DAMAGE):
        stream.read()


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_what_is_no_archive_raises(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(b"plain text under a wrong name\n")
    with open_text(path) as stream, pytest.raises(DAMAGE):
        stream.read()


def test_a_small_zst_of_gigabytes_is_read_in_bounded_steps(tmp_path: Path) -> None:
    """3 GiB of zeros take 300 kB; the first byte must not cost all of them."""
    path = tmp_path / "zeros.zst"
    path.write_bytes(COMPRESS[".zst"](bytes(1 << 26)) * 50)
    tracemalloc.start()
    try:
        with open_text(path) as stream:
            assert stream.read(1) == b"\0"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 26


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.tsv: there is no such file \(looked in "):
        open_text(tmp_path / "nowhere.tsv")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder; name the files in it"):
        open_text(tmp_path)


def test_a_name_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read|no such file"):
        open_text(tmp_path / ("long" * 100))


@pytest.mark.parametrize("suffix", [".bz2", ".ZIP"])
def test_archives_of_other_kinds_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"train.tsv{suffix}"
    path.write_bytes(b"whatever")
    with pytest.raises(UserError, match=r"unpack it first; read as they are: plain text, \.gz, \.xz, \.zst"):
        require_file(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.tsv"
    path.write_bytes(b"a\tb\n")
    path.chmod(0)
    with pytest.raises(UserError, match=r"secret\.tsv: cannot be read: "):
        open_text(path)


def test_zstandard_is_needed_only_for_zst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, compressed = tmp_path / "a", tmp_path / "a.zst"
    plain.write_bytes(b"text\n")
    compressed.write_bytes(COMPRESS[".zst"](b"text\n"))
    importing = builtins.__import__

    def without_zstandard(name: str, *rest: object, **more: object) -> object:
        if name == "zstandard":
            raise ImportError(name)
        return importing(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_zstandard)
    with open_text(plain) as stream:
        assert stream.read() == b"text\n"
    with pytest.raises(UserError, match=r"a\.zst: reading \.zst needs `pip install zstandard`"):
        open_text(compressed)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("train.tsv", ".tsv"),
        ("a.b/train.JSONL.gz", ".jsonl"),
        ("train.de", ".de"),
        ("train", ""),
        ("x.tsv.ZST", ".tsv"),
    ],
)
def test_text_suffix_looks_behind_the_compression(name: str, suffix: str) -> None:
    assert text_suffix(name) == suffix
