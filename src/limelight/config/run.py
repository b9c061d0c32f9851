"""The complete configuration of a run as one frozen, typed record.

A recipe is a `RunConfig`, listed in `recipes.yaml`; `config.yaml` in a run folder is the resolved one, and is
sufficient to run it again.
"""

import re
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field

from limelight.config.models import LearnsFrom, ModelConfig, Section, TransformerConfig

Rate = Annotated[float, Field(ge=0, le=1)]


class AugmentationConfig(Section):
    """The share of pairs that each augmentation changes, drawn again in every epoch; 0 disables it.

    Several can apply to one pair.
    """

    join: Rate = 0.0
    """Two or three pairs are joined into one."""
    placeholders: Rate = 0.0
    """Placeholders replace aligned words, surround them or are inserted between them: the model learns to copy them."""
    terms: Rate = 0.0
    """Source words are followed by the form that the target uses: the model learns to use given terms."""
    names: Rate = 0.0
    """Names that both sides share are replaced by other names: the model learns to copy them."""
    name_lists: tuple[str, ...] = ()
    """Files with names for `names`, one a line, one kind of name (first names, cities, ...) a file; without them names
    are invented."""
    numbers: Rate = 0.0
    """Numbers that both sides share are replaced by other numbers, in each language's notation."""
    inserts: Rate = 0.0
    """Both sides get the same URL, e-mail address, emoji, code or foreign word."""
    same: Rate = 0.0
    """The source is replaced by the target: the model learns to leave text in the target language unchanged."""
    quotes: Rate = 0.0
    """Both sides are put in quotation marks: straight ones, or those of English, German and French."""
    lists: Rate = 0.0
    """Both sides get the same list marker at the beginning."""
    bare: Rate = 0.0
    """Both sides lose their final punctuation mark."""
    lowercase: Rate = 0.0
    """Both sides are lowercased."""
    uppercase: Rate = 0.0
    """Both sides are uppercased."""
    titlecase: Rate = 0.0
    """The source is converted to title case; the target is unchanged."""
    typos: Rate = 0.0
    """The source gets one or two typing errors: letters swapped, dropped, doubled or replaced by adjacent keys."""

    decimals: Rate = 0.0
    """Numbers that both sides share become decimals in each language's notation; other pairs get the same quantity."""
    signs: Rate = 0.0
    """Both sides get the same brackets, signs, variables or code."""
    emphasis: Rate = 0.0
    """A word of the source and its translation are written in capitals."""
    spaces: Rate = 0.0
    """No-break spaces of the source become ordinary ones; other sources get some where typography has them."""
    figures: Rate = 0.0
    """Numbers that both sides share are replaced by placeholders, as translation carries numbers with separators."""
    formality: Rate = 0.0
    """The tag `<formal>` or `<informal>` goes before the source, if a German or French target has a form of address."""

    @property
    def needs_alignments(self) -> bool:
        """Whether word alignments are needed."""
        return self.placeholders > 0 or self.terms > 0 or self.emphasis > 0

    @property
    def rates(self) -> dict[str, float]:
        """Name of an augmentation -> share of pairs."""
        return self.model_dump(exclude={"name_lists"})


def _require_device(name: str) -> str:
    """Raises `ValueError` unless `name` has the form of a device name. Whether the device exists is not checked."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?|mps", name):
        raise ValueError("a device is auto, cpu, cuda, cuda:N (the GPU with that number, from 0) or mps")
    return name


Device = Annotated[str, AfterValidator(_require_device)]
"""A device by its name in torch, or `auto`."""


class Direction(NamedTuple):
    """A source language and a target language."""

    source: str
    """Language of the source."""
    target: str
    """Language of the target."""

    @property
    def reversed(self) -> "Direction":
        """The opposite direction."""
        return Direction(self.target, self.source)

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target language; empty if they are not named."""
        source, target = ("" if name == unnamed else name for name, unnamed in zip(self, UNNAMED, strict=True))
        return source, target

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


class Corpus(Section):
    """Parallel text: one file with both sides, or two files with corresponding lines."""

    files: tuple[str, ...] = Field(min_length=1, max_length=2)
    """Paths, relative to the working directory."""
    source: str = "source"
    """Language of the source side, for example `en`."""
    target: str = "target"
    """Language of the target side, for example `de`."""
    weight: float = Field(1.0, gt=0)
    """How often the corpus is seen per epoch; 0.5 is a new random half each time, 2 is all of it twice."""
    side_constraint: str = Field("", pattern=r"^(formal|informal|domain:[A-Za-z0-9][A-Za-z0-9_-]{0,31})?$")
    """`formal`, `informal` or `domain:NAME`: the token `<formal>` and so on goes before half of the sources, drawn
    again in every epoch (Sennrich et al. 2016), so that the model translates with the constraint and without it."""
    columns: tuple[str, str] | tuple[()] = ()
    """The columns of source and target in a table (.tsv, .csv, .jsonl, .parquet): their numbers, from 1, or their
    names. By default those that are named by the languages, or the first two."""
    tag: Literal["", "bt", "replay"] = ""
    """`bt` if the source is a machine translation of the target: the token `<bt>` goes before each source (Caswell et
    al. 2019). Such a corpus is not used in reverse, as its target would be a machine translation. `replay` for text of
    the parent model, which a fine-tuned one should not forget (`data.replay`); it has no token."""

    @property
    def direction(self) -> Direction:
        """The direction that is translated."""
        return Direction(self.source, self.target)

    def __str__(self) -> str:
        """The files, for messages."""
        return " + ".join(self.files)


UNNAMED = Direction("source", "target")
"""The direction of a corpus whose languages are not given."""


class DataConfig(Section):
    """Training and validation text, and which pairs are left out of training."""

    train: tuple[Corpus, ...] = ()
    """The training pairs; on the command line `--train`, `--back-translated` and `--tag`."""
    valid: tuple[Corpus, ...] = ()
    """The validation pairs; on the command line `--valid`."""
    hold_out: int = Field(0, ge=0, le=1_000_000)
    """Number of pairs per direction that are taken out of `train` for validation, and as many for tests; the run folder
    contains them as files, and `valid` names those for validation."""
    both_directions: bool = False
    """Use each corpus without a tag in both directions: one model translates both ways."""
    inherited: tuple[tuple[str, str], ...] = ()
    """The directions (source and target language) of the parent model, if it has several. The new model keeps them and
    their language tags. Set when a run begins."""
    language_tokens: Literal["target", "both"] = "target"
    """Which sides name languages in a model of several directions: the source names the target language, or each side
    begins with a token for its own, as in imported M2M100 and NLLB models, which cannot be trained here."""
    replay: float = Field(0.0, ge=0, le=10)
    """Pairs of general text for each pair of `train`, in all directions of the model that the run begins with. 0 trains
    on `train` alone, and mixes and measures nothing at the end."""
    general: tuple[Corpus, ...] = ()
    """General text for `replay`, if not the text that the parent model keeps in its folder."""
    temperature: float = Field(1.0, ge=1)
    """T of the sampling between corpora of different size: a corpus of n pairs is drawn in proportion to n^(1/T)
    (Arivazhagan et al. 2019, section 4.2). 1 draws each pair equally often; larger values make corpora more equal."""
    text: tuple[str, ...] = ()
    """Files of plain text, for language models and masked models."""
    valid_text: tuple[str, ...] = ()
    """Files of plain validation text; on the command line `--valid-text`."""
    held_out: float = Field(0.1, ge=0, lt=1)
    """If there is no `valid_text`, this last fraction of each text is used for validation."""
    documents: Literal["file", "line"] = "file"
    """Whether a file of text is one document, or each of its lines is."""
    on_bad_line: Literal["stop", "skip"] = "stop"
    """What to do with an unreadable line: stop and report its position, or report and skip it."""
    on_doubt: Literal["stop", "warn"] = "stop"
    """What to do with text of which more than half is certainly wrong (sides that do not match, or other languages):
    stop before training, or warn. Smaller parts only warn."""
    max_characters: int = Field(2000, ge=1)
    """Pairs with a longer side are left out of training, and counted."""
    max_length_ratio: float = Field(6.0, ge=1)
    """Pairs with a larger ratio of characters are left out (not if both sides are under 20 characters)."""
    drop_duplicates: bool = True
    """Keep only the first of equal pairs."""
    drop_identical: bool = True
    """Leave out pairs with identical sides, which teach copying."""


class TokensConfig(Section):
    """How text becomes tokens."""

    kind: Literal["bpe", "unigram", "characters"] = "bpe"
    """Byte-pair encoding (Sennrich et al. 2016), a unigram model (Kudo 2018), or characters."""
    vocabulary_size: int | None = Field(None, ge=64)
    """Tokens per vocabulary without padding; chosen from the size of the corpus by default."""
    joint: bool = True
    """One vocabulary for both languages (needed to tie source and target embeddings)."""
    sampling: float = Field(0.0, ge=0, lt=1)
    """Subword sampling in training: the dropout probability of BPE merges (Provilkov et al. 2020). 0 always takes the
    best segmentation; other kinds have only that."""
    byte_fallback: bool = True
    """Encode characters outside the vocabulary as bytes, so that no text is lost."""


class BatchingConfig(Section):
    """How pairs become batches."""

    tokens: int = Field(4096, ge=1)
    """Budget of a batch: rows times the longest target (or source, if longer), padding included."""
    max_length: int = Field(256, ge=1)
    """Pairs with more tokens on a side are left out of training, and counted."""
    block: int = Field(256, ge=2)
    """Plain text is cut into rows of this many tokens without padding; a batch has `tokens / block` rows."""
    chunk_pairs: int = Field(100_000, ge=1)
    """Pairs that are shuffled, sampled and sorted together; bounds memory, but for 16 bytes for each pair."""


class TrainingConfig(Section):
    """Bounds, schedule, optimizer, validation and checkpoints of training."""

    seed: int = Field(1, ge=0, le=2**63)
    """Seed of all random numbers."""
    max_steps: int | None = Field(None, ge=1)
    """Stop after this many updates in total; the first of the bounds to be reached ends the run."""
    max_minutes: float | None = Field(None, gt=0)
    """Stop after this many minutes of training in total, interruptions not counted."""
    fit_to_budget: bool = False
    """Whether the learning rate follows `max_steps` or `max_minutes`, whatever the schedule: it rises over `warmup`
    updates, or over a tenth of the budget if that is less, and falls as half a cosine to a hundredth of its peak at the
    end."""
    schedule: Literal["paper", "inverse_sqrt", "cosine", "constant", "wsd"] = "inverse_sqrt"
    """How the learning rate rises and falls: see docs/training.md."""
    learning_rate: float = Field(1e-3, gt=0)
    """Peak learning rate; for `paper` the factor of `d_model^-0.5 min(step^-0.5, step warmup^-1.5)`."""
    warmup: int = Field(4000, ge=0)
    """Updates over which the learning rate rises linearly."""
    decay_steps: int | None = Field(None, ge=1)
    """Updates after which `cosine` and `wsd` reach their lowest rate. Default: the bound of the run, in updates or in
    minutes."""
    task: str = Field("", examples=["name of a plugin"])
    """A task that a plugin registers; by default the model and the text determine it."""
    loss: str = Field("cross_entropy", examples=["cross_entropy"])
    """What is minimized: `cross_entropy`, or a loss that a plugin registers."""
    optimizer: Literal["adam", "muon"] = "adam"
    """Muon takes orthogonal steps for the matrices between layers: fewer updates, each a seventh longer on a CPU."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the first moment of Adam."""
    beta2: float = Field(0.98, ge=0, lt=1)
    """Decay of the second moment of Adam."""
    epsilon: float = Field(1e-9, gt=0)
    """Added to the divisor of Adam."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay of matrices (Loshchilov and Hutter 2019)."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability that is spread evenly over the vocabulary (Szegedy et al. 2016)."""
    clip_norm: float = Field(1.0, ge=0)
    """Maximum norm of the gradient; 0 does not clip."""
    accumulate: int = Field(1, ge=1)
    """Batches that are summed into one update."""
    freeze: tuple[str, ...] = Field((), examples=["embeddings, encoder"])
    """Parts whose weights are not trained: `embeddings` (of tokens, also as an output matrix), or modules of the model
    such as `encoder` or `decoder.layers.0`."""
    mask_share: float = Field(0.15, gt=0, lt=1)
    """Share of tokens that a masked model predicts (Devlin et al. 2019, section 3.1)."""
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """`auto` selects bf16 if the hardware multiplies it, fp16 on a GPU that has only that, else fp32. Master weights
    are always fp32."""
    device: Device = Field("auto", examples=["auto", "cpu", "cuda", "cuda:1", "mps"])
    """`auto` selects the first CUDA GPU if there is one, else the CPU."""
    deterministic: bool = False
    """Use only deterministic kernels, which are slower on a GPU: resuming is then bit-exact there, too, as it always is
    on a CPU."""
    compile: bool = False
    """Train a Transformer with torch.compile if the machine supports it: the same updates up to rounding, faster on a
    GPU, after a minute or two of compilation at each start."""
    threads: int | None = Field(None, ge=1)
    """CPU threads; all cores by default."""
    data_workers: int | None = Field(None, ge=0)
    """Processes that sample subwords and augment pairs; by default none on a CPU, and up to eight for a GPU, which
    would otherwise wait. The batches are the same."""
    validate_every: int | None = Field(None, ge=1)
    """Updates between validations; by default `validate_epochs` applies."""
    validate_epochs: float = Field(1.0, gt=0)
    """Epochs between validations if `validate_every` is not given, but at least 100 updates."""
    bleu_sentences: int = Field(500, ge=0)
    """Validation sentences that are translated (greedily) for BLEU; 0 validates by loss only."""
    bleu_tokenize: Literal["13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"] | None = None
    """sacreBLEU's tokenization; by default it follows from the script of the validation text."""
    metrics: tuple[str, ...] = Field((), examples=["chrf++", "ter"])
    """Further figures of translations in validation: `chrf++`, `ter`, or what a plugin registers."""
    best_by: str = Field("bleu", examples=["bleu", "chrf", "loss", "accuracy", "macro_f1"])
    """The validation figure that selects the best model; the loss if the model has no such figure. While BLEU is below
    1, `bleu` compares chrF."""
    patience: int | None = Field(None, ge=1)
    """Validations without improvement before the run stops early; by default `patience_epochs` applies. Validations
    before the end of the warm-up do not count."""
    patience_epochs: float = Field(30.0, gt=0)
    """Epochs without improvement before the run stops early if `patience` is not given, but at least 5 validations."""
    checkpoint_every: int = Field(500, ge=1)
    """Updates between checkpoints of the complete training state."""
    keep_checkpoints: int = Field(3, ge=1)
    """Number of checkpoints that are kept."""
    keep_snapshots: int = Field(0, ge=0)
    """Number of model folders under `RUN/snapshots/`, made at validations and spread evenly over the run; 0
    keeps none."""
    average: int = Field(5, ge=1)
    """Number of weight snapshots that the final model averages; 1 uses only the best one."""
    log_every: int = Field(50, ge=1)
    """Updates between lines of the log."""
    loggers: tuple[str, ...] | None = Field(None, examples=["tensorboard", "wandb", "trackio"])
    """Where curves are kept beside `log.jsonl`: `tensorboard`, `wandb`, `trackio`, or a plugin's. Default: TensorBoard
    if it is installed."""

    @property
    def is_bounded(self) -> bool:
        """Whether there is a bound in updates or in minutes."""
        return bool(self.max_steps or self.max_minutes)


class DecodingConfig(Section):
    """Defaults of `translate` for this model; each call can override them."""

    beam_size: int = Field(4, ge=1, le=1000)
    """Hypotheses of each sentence; 1 is greedy search."""
    length_penalty: float = Field(0.6, ge=0, le=10.0)  # the longest always wins
    """alpha of `((k + length) / (k + 1))^alpha` (Wu et al. 2016, equation 14); 0 does not normalize."""
    length_offset: float = Field(5.0, ge=0, le=100)
    """k: 5 in that paper; 0 makes it `length^alpha`, as in fairseq, Marian, CTranslate2 and transformers."""
    coverage_penalty: float = Field(0.0, ge=0, le=10)
    """beta of that paper's coverage penalty: hypotheses that leave source tokens without attention rank lower."""
    patience: float = Field(1.0, gt=0)
    """A sentence is finished once `patience * beam_size` hypotheses have ended (Kasai et al. 2022), or earlier if no
    other can improve; a large value always waits for that."""
    prune: float = Field(4.0, gt=0)
    """Hypotheses whose log-probability is this much below the best one's are pruned (Freitag and Al-Onaizan 2017); a
    large value prunes none. Not applied if more than the best translation is requested."""
    max_length_factor: float = Field(1.5, gt=0, le=100)
    """A translation has at most `factor * source tokens + extra` tokens (the paper: source + 50)."""
    max_length_extra: int = Field(20, ge=1, le=1000)
    """The extra number of tokens."""
    guards: bool | None = None
    """Whether translations are compared with their sources, and numbers, addresses, and signs are carried. By default
    that is done for translation between two different named languages, and not for any other task."""


class RunConfig(Section):
    """A complete run; the content of `config.yaml`."""

    recipe: str = "custom"
    """The recipe that this run began with, for the model card; its settings are all below."""
    begin_with: str = ""
    """A run or model folder that provides the initial weights and the vocabulary."""
    extend_vocabulary: bool = False
    """Add to that vocabulary the tags that this run needs, and characters and merges that are frequent in `data.train`.
    A new row of an embedding begins as the mean of the rows of the tokens that it replaces."""
    data: DataConfig = DataConfig()
    """Training and validation text."""
    tokens: TokensConfig = TokensConfig()
    """How text becomes tokens."""
    augmentation: AugmentationConfig = AugmentationConfig()
    """What changes pairs at random."""
    batching: BatchingConfig = BatchingConfig()
    """How pairs become batches."""
    model: ModelConfig = TransformerConfig()
    """The model; its `family` selects the settings."""
    training: TrainingConfig = TrainingConfig()
    """How the model learns."""
    decoding: DecodingConfig = DecodingConfig()
    """Defaults of the search."""
    weights: Literal["fp32", "bf16", "int8"] = "fp32"
    """Number format of the weights in a model folder: training writes fp32, `limelight export --to limelight` makes the
    smaller forms. By default, decoding uses the same format."""

    @property
    def learns(self) -> LearnsFrom:
        """Which kind of training text of its family this run uses: `data.text`, or the content of `data.train`."""
        kinds = self.model.learns_from
        return next((kind for kind in kinds if (kind == "text") == bool(self.data.text)), kinds[0])
