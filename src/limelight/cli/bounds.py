"""Effects of a bound (`--max-minutes`, `--max-steps`) on the settings of `limelight train`."""

BOUNDS = ("training.max_steps", "training.max_minutes")
OF_THE_RATE = {"training.schedule", "training.warmup", "training.decay_steps", "training.fit_to_budget"}


def with_budget(settings: list[str], *, fit: bool) -> list[str]:
    """The settings, and those implied by a bound: it replaces the other bound of the recipe; with `fit` the learning
    rate is fitted to it, unless a setting determines the schedule."""
    names = {setting.partition("=")[0].strip() for setting in settings}
    brought = [f"{bound}=null" for bound in BOUNDS if bound not in names] if has_bound(settings) else []
    if has_bound(settings) and fit and not names & OF_THE_RATE:
        brought.append("training.fit_to_budget=true")
    return [*brought, *settings]


def has_bound(settings: list[str]) -> bool:
    """Whether a setting bounds the run."""
    values = {name.strip(): value.strip() for name, _, value in (setting.partition("=") for setting in settings)}
    return any(values.get(bound, "null") != "null" for bound in BOUNDS)
