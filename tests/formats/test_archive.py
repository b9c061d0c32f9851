"""Archives: the same bytes whatever the compression, and an end only where the archive says so."""

import gzip
import lzma
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from limelight.formats.opening import COMPRESSIONS, ArchiveReader, compress, open_text

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
SUFFIXES = pytest.mark.parametrize("suffix", COMPRESSIONS)


def noise(seed: int, size: int) -> bytes:
    """Bytes that compress, but not to nothing."""
    generator = random.Random(seed)
    return b"".join(generator.choice([b"one ", b"two\n", generator.randbytes(3)]) for _ in range(size))


def read(folder: Path, suffix: str, content: bytes) -> bytes:
    path = folder / f"text{suffix}"
    path.write_bytes(content)
    with open_text(path) as stream:
        return stream.read()


@SUFFIXES
def test_what_was_compressed_is_read(suffix: str, tmp_path: Path, seed: int) -> None:
    content = noise(seed, 70_001)
    assert read(tmp_path, suffix, COMPRESS[suffix](content)) == content
    assert read(tmp_path, suffix, COMPRESS[suffix](b"")) == b""


@SUFFIXES
def test_archives_end_to_end_are_one_text(suffix: str, tmp_path: Path, seed: int) -> None:
    """What `cat a.gz b.gz > c.gz` and parallel compressors write; a tape pads with NULs."""
    parts = [noise(seed, 3_001), b"", b"two\n", noise(seed + 1, 701)]
    for padding in (b"", bytes(4), bytes(9_000)):
        content = b"".join(COMPRESS[suffix](part) + padding for part in parts)
        assert read(tmp_path, suffix, content) == b"".join(parts)


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_what_we_compress_is_whole_the_same_every_time_and_can_grow(suffix: str, tmp_path: Path) -> None:
    parts = [b"one\n" * 99, b"", b"two\n"]
    assert [compress(part, suffix) for part in parts] == [compress(part, suffix) for part in parts]
    path = tmp_path / f"text{suffix}"
    path.write_bytes(b"".join(compress(part, suffix) for part in parts))
    with ArchiveReader(path, suffix) as stream:
        assert stream.read() == b"".join(parts)
    assert compress(b"as it is", ".tsv") == b"as it is"


@SUFFIXES
def test_a_truncated_archive_raises_wherever_it_was_cut(suffix: str, tmp_path: Path, seed: int) -> None:
    """Also where nothing is left, which the libraries take for an empty text."""
    whole = COMPRESS[suffix](noise(seed, 2_011))
    for kept in {0, 1, len(whole) // 2, len(whole) - 1, *random.Random(seed).choices(range(len(whole)), k=20)}:
        with pytest.raises(OSError, match="the archive has no end"):
            read(tmp_path, suffix, whole[:kept])


@SUFFIXES
def test_the_second_of_two_archives_may_be_damaged_too(suffix: str, tmp_path: Path, seed: int) -> None:
    first, second = COMPRESS[suffix](b"one\n"), COMPRESS[suffix](noise(seed, 1_009))
    for damaged in (second[:-1], second[:3], b"rubbish", b"\0" + second[1:], second + b"\0rubbish"):
        with pytest.raises(OSError, match=r"."):
            read(tmp_path, suffix, first + damaged)


def test_an_xz_that_wants_gigabytes_of_memory_is_refused(tmp_path: Path) -> None:
    hungry = lzma.compress(b"text", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}])
    assert read(tmp_path, ".xz", hungry) == b"text"
    body = bytearray(hungry)
    body[16] = 40  # the size of the dictionary, as an exponent: 4 GiB; then the header's checksum
    body[20:24] = __import__("zlib").crc32(bytes(body[12:20])).to_bytes(4, "little")
    with pytest.raises(OSError, match="Memory usage limit"):
        read(tmp_path, ".xz", bytes(body))


@SUFFIXES
def test_a_small_archive_of_gigabytes_is_read_in_bounded_steps(suffix: str, tmp_path: Path) -> None:
    """3 GiB of zeros; the first byte must not cost all of them."""
    path = tmp_path / f"zeros{suffix}"
    path.write_bytes(COMPRESS[suffix](bytes(1 << 24)) * 192)
    tracemalloc.start()
    try:
        with open_text(path) as stream:
            assert stream.read(1) == b"\0"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 24
