"""The whole run in one frozen, typed record: what is trained, on what, how.

A recipe is a function that returns a `RunConfig`; `config.yaml` in a run folder is the one that was really used, and is
enough to run it again.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from limelight.config.augmentation import AugmentationConfig
from limelight.config.models import LearnsFrom, ModelConfig, TransformerConfig
from limelight.config.section import Section


def _require_device(name: str) -> str:
    """Raises `ValueError` for what is not the name of a device, whether it is there or not."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?|mps", name):
        raise ValueError("a device is auto, cpu, cuda, cuda:N (the GPU with that number, from 0) or mps")
    return name


Device = Annotated[str, AfterValidator(_require_device)]
"""A device by its name in torch, or `auto`."""


class Corpus(Section):
    """Parallel text: one file holding both sides, or two files line by line."""

    files: tuple[str, ...] = Field(min_length=1, max_length=2)
    source: str = "source"
    """Language of the source side, for example `en`."""
    target: str = "target"
    """Language of the target side, for example `de`."""
    weight: float = Field(1.0, gt=0)
    """How often the corpus is seen per epoch; 0.5 is a fresh half of it each time, 2 is all of it twice."""
    tag: Literal["", "bt"] = ""
    """`bt` where the source is a machine translation of the target: the token `<bt>` goes before each source (Caswell
    et al. 2019). Such a corpus is not read the other way round: its target would be a machine translation."""


class DataConfig(Section):
    """Which text is read, and which pairs of it training leaves out."""

    train: tuple[Corpus, ...] = ()
    valid: tuple[Corpus, ...] = ()
    hold_out: int = Field(0, ge=0, le=1_000_000)
    """So many pairs of each direction are taken out of `train` for validation, and as many for tests; the run folder
    has them as files, and `valid` names those for validation."""
    both_directions: bool = False
    """Each corpus without a tag is read both ways: one model translates from its source to its target language and
    back."""
    inherited: tuple[tuple[str, str], ...] = ()
    """The directions, each as source and target language, of the model that this run begins with, if it has several.
    The new model keeps them and their language tags. Filled in when a run begins."""
    temperature: float = Field(1.0, ge=1)
    """T of the sampling between corpora of different size: a corpus of n pairs is drawn in proportion to n^(1/T)
    (Arivazhagan et al. 2019, section 4.2). 1 draws each pair equally often; the larger, the more equal the corpora."""
    text: tuple[str, ...] = ()
    """Files of plain text: what a language model, or a masked one, learns from."""
    valid_text: tuple[str, ...] = ()
    held_out: float = Field(0.1, ge=0, lt=1)
    """Where no `valid_text` is given, this last part of each text is kept for validation."""
    documents: Literal["file", "line"] = "file"
    """Whether a file of text is one document, or each of its lines is one."""
    states: Literal["translated", "approved", "all"] = "translated"
    """Which segments of XLIFF, PO and Qt files are used: translated ones, of these only what somebody has approved, or
    drafts as well."""
    on_bad_line: Literal["stop", "skip"] = "stop"
    """What to do with a line that cannot be read: stop with its place, or report and skip it."""
    on_doubt: Literal["stop", "warn"] = "stop"
    """What to do with text of which more than half is certainly wrong, as its sides do not belong together or are in
    other languages: stop before training, or warn. Smaller parts are a warning in any case."""
    max_characters: int = Field(2000, ge=1)
    """Pairs with a longer side are left out of training, and counted."""
    max_length_ratio: float = Field(6.0, ge=1)
    """Pairs whose sides differ more in characters are left out (not where both sides are under 20 characters)."""
    drop_duplicates: bool = True
    drop_identical: bool = True
    """Leave out pairs whose sides are the same text: they teach copying."""


class TokensConfig(Section):
    """How text becomes tokens of words."""

    kind: Literal["bpe", "unigram", "wordpiece", "characters"] = "bpe"
    vocabulary_size: int | None = Field(None, ge=64)
    """Tokens per vocabulary, padding not counted; chosen from the size of the corpus when not given."""
    joint: bool = True
    """One vocabulary for both languages (needed to tie source and target embeddings)."""
    sampling: float = Field(0.0, ge=0, lt=1)
    """Subword sampling in training: the dropout probability of BPE merges (Provilkov et al. 2020), or the smoothing of
    unigram sampling (Kudo 2018). 0 always takes the best segmentation."""
    byte_fallback: bool = True
    """Spell characters the vocabulary does not know in bytes, so that no text is lost."""


class BatchingConfig(Section):
    """How pairs become batches."""

    tokens: int = Field(4096, ge=1)
    """Budget of a batch: rows times the longest target (or source, if that is longer), padding included."""
    max_length: int = Field(256, ge=1)
    """Pairs with more tokens on a side are left out of training, and counted."""
    block: int = Field(256, ge=2)
    """Plain text is cut into rows of so many tokens, without padding; a batch has `tokens / block` of them."""
    chunk_pairs: int = Field(100_000, ge=1)
    """Pairs that are shuffled, sampled and sorted together; bounds the memory a corpus of any size needs."""


class TrainingConfig(Section):
    """How the weights are found: bounds, schedule, optimizer, validation, checkpoints."""

    seed: int = Field(1, ge=0, le=2**63)
    max_steps: int | None = Field(None, ge=1)
    """Stop after so many updates in all; whichever of the bounds is reached first ends the run."""
    max_minutes: float | None = Field(None, gt=0)
    """Stop after so many minutes of training in all, interruptions not counted."""
    fit_to_budget: bool = False
    """Whether the rate fits `max_steps` or `max_minutes`, whatever the schedule: it rises over `warmup` updates, or
    over a tenth of the budget if that is less, and falls as half a cosine to a hundredth of its peak at the end."""
    schedule: Literal["paper", "inverse_sqrt", "cosine", "constant", "wsd"] = "inverse_sqrt"
    learning_rate: float = Field(1e-3, gt=0)
    """Peak rate; for `paper` the factor before `d_model^-0.5 min(step^-0.5, step warmup^-1.5)`."""
    warmup: int = Field(4000, ge=0)
    """Updates in which the rate rises linearly."""
    decay_steps: int | None = Field(None, ge=1)
    """Updates after which `cosine` and `wsd` reach their lowest rate. Default: the bound of the run, in updates or
    in minutes."""
    optimizer: Literal["adam", "muon"] = "adam"
    """Muon takes orthogonal steps with the matrices between layers: fewer updates, each a seventh longer on a CPU."""
    beta1: float = Field(0.9, ge=0, lt=1)
    beta2: float = Field(0.98, ge=0, lt=1)
    epsilon: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    clip_norm: float = Field(1.0, ge=0)
    """Largest norm of the gradient; 0 does not clip."""
    accumulate: int = Field(1, ge=1)
    """Batches summed into one update."""
    mask_share: float = Field(0.15, gt=0, lt=1)
    """A masked model has to guess this share of the tokens (Devlin et al. 2019, section 3.1)."""
    precision: Literal["auto", "fp32", "tf32", "bf16", "fp16"] = "auto"
    """`auto` takes bf16 where the hardware multiplies it, fp16 on a GPU that has only that, fp32 else. The weights that
    learn are fp32 in any case."""
    device: Device = Field("auto", examples=["auto", "cpu", "cuda", "cuda:1", "mps"])
    """`auto` takes the first CUDA GPU where there is one, and the CPU else."""
    compile: bool = False
    """Train a Transformer with code that torch.compile makes of it, where the machine can: the same updates but for
    rounding, faster on a GPU, after a minute or two of compiling at each start."""
    threads: int | None = Field(None, ge=1)
    """CPU threads; all cores when not given."""
    data_workers: int | None = Field(None, ge=0)
    """Processes that draw subwords and augmented pairs; when not given none on a CPU, and up to eight for a GPU, which
    would wait otherwise. The batches are the same."""
    validate_every: int | None = Field(None, ge=1)
    """Updates between validations; when not given, `validate_epochs` says how often."""
    validate_epochs: float = Field(1.0, gt=0)
    """Epochs between validations where `validate_every` is not given, but 100 updates at least."""
    bleu_sentences: int = Field(500, ge=0)
    """Validation sentences that are really translated (greedily) for BLEU; 0 validates by loss alone."""
    bleu_tokenize: Literal["13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none", "flores200"] | None = None
    """sacreBLEU's tokenization; when not given, it is chosen from the target language, or from the script of the
    validation text where that has no name."""
    best_by: Literal["bleu", "chrf", "loss", "accuracy", "macro_f1"] = "bleu"
    """The figure of a validation that says which model is best; the loss where a model has no such figure. While BLEU
    is below 1, `bleu` compares chrF."""
    patience: int | None = Field(None, ge=1)
    """Validations without improvement before the run stops early; when not given, `patience_epochs` says how many.
    Those before the end of the warm-up do not count."""
    patience_epochs: float = Field(30.0, gt=0)
    """Epochs without improvement before the run stops early where `patience` is not given, but 5 validations at
    least."""
    checkpoint_every: int = Field(500, ge=1)
    """Updates between checkpoints of the whole training state."""
    keep_checkpoints: int = Field(3, ge=1)
    keep_snapshots: int = Field(0, ge=0)
    """Model folders under `RUN/snapshots/`, spread evenly over the run; 0 keeps none."""
    average: int = Field(5, ge=1)
    """How many snapshots of the weights the final model averages; 1 takes the best one alone."""
    average_of: Literal["last", "best"] = "last"
    """Whether the last snapshots are averaged (as in the paper) or those that validated best."""
    log_every: int = Field(50, ge=1)


MAX_LENGTH_PENALTY = 10.0
"""With so large an alpha the longest hypothesis always wins; far larger ones overflow."""


class DecodingConfig(Section):
    """Defaults of `translate` for this model; every one can be given anew for a call."""

    beam_size: int = Field(4, ge=1, le=1000)
    length_penalty: float = Field(0.6, ge=0, le=MAX_LENGTH_PENALTY)
    """alpha of `((k + length) / (k + 1))^alpha` (Wu et al. 2016, equation 14); 0 does not normalize."""
    length_offset: float = Field(5.0, ge=0, le=100)
    """k: 5 in that paper; 0 makes it `length^alpha`, as in fairseq, Marian, CTranslate2 and transformers."""
    patience: float = Field(1.0, gt=0)
    """A sentence is decided once `patience * beam_size` hypotheses ended (Kasai et al. 2022), or earlier where none
    can get better; a large value waits until none can."""
    prune: float = Field(4.0, gt=0)
    """Hypotheses whose log-probability is so far below the best one's are pruned (Freitag and Al-Onaizan 2017); a
    large value prunes none. Never done where more than the best translation is asked for."""
    max_length_factor: float = Field(1.5, gt=0, le=100)
    """A translation has at most `factor * source tokens + extra` tokens (the paper: source + 50)."""
    max_length_extra: int = Field(20, ge=1, le=1000)


class RunConfig(Section):
    """A whole run; what `config.yaml` holds."""

    recipe: str = "custom"
    """The recipe this run began with, for the model card; every setting it made is below."""
    begin_with: str = ""
    """A run or model folder whose weights and vocabulary this run begins with."""
    data: DataConfig = DataConfig()
    tokens: TokensConfig = TokensConfig()
    augmentation: AugmentationConfig = AugmentationConfig()
    batching: BatchingConfig = BatchingConfig()
    model: ModelConfig = TransformerConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()
    weights: Literal["fp32", "bf16", "int8"] = "fp32"
    """In which numbers a model folder keeps its weights: training keeps them whole, `limelight export --to limelight`
    makes the smaller forms. By default, decoding uses the same form."""

    @property
    def learns(self) -> LearnsFrom:
        """Which of all that models of its family learn from this run has: `data.text`, or what `data.train` holds."""
        kinds = self.model.learns_from
        return next((kind for kind in kinds if (kind == "text") == bool(self.data.text)), kinds[0])
