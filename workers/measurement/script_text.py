"""A script as people write it, one step a line, and as it is shown again, without its secrets. Pure.

visit https://shop.example/login
type me@example.com into #user
secret sesame into #password
click #go
wait for .account
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from workers.measurement.page_options import MAX_STEPS, Click, Key, Press, Step, TypeText, Visit, WaitFor
from workers.measurement.page_rules import MAX_TEXT_CHARS, PageOptionError, step_fault
from workers.measurement.recorded_script import ScriptError, parse_recording
from workers.measurement.target import origin_of

# What stands for a secret that is stored, and asks for it to be kept.
KEPT = "\N{BULLET}" * 8
# What a line may be.
STEP_FORMS = (
    "visit URL, click SELECTOR, type TEXT into SELECTOR, secret TEXT into SELECTOR, press KEY or wait for SELECTOR"
)
_KEYS = {key.lower(): key for key in Key}


def parse_script(text: str) -> tuple[Step, ...]:
    """The steps of lines, or of a recording that Chrome DevTools exported as JSON.

    Raises PageOptionError with a sentence for each line at fault; it repeats nothing that is typed.
    """
    if text.lstrip().startswith("{"):
        return _recorded(text)
    steps: list[Step] = []
    faults: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        # A script is answered line by line, and no answer is longer than a script may be.
        if not line.strip() or line.lstrip().startswith("//") or len(steps) + len(faults) > MAX_STEPS:
            continue
        try:
            steps.append(_step(line.strip()))
        except PageOptionError as error:
            faults.append(f"Line {number}: {error}")
    if faults:
        raise PageOptionError("\n".join(faults))
    return tuple(steps)


def script_text(steps: Iterable[Step]) -> str:
    """The lines of a script; a secret is masked."""
    return "\n".join(_line(step) for step in steps)


def with_kept(steps: Iterable[Step], before: Iterable[Step], *, moved: bool = False) -> tuple[Step, ...]:
    """The steps with the secrets that are to be kept.

    One is kept only for the field and the server it was written for, and while no step before it leads to a server
    that none led to then, so that nobody who may change a script but does not know its secrets can send them
    elsewhere; none is when hosts are reached at other addresses than before (`moved`). Raises PageOptionError.
    """
    known: dict[tuple[str, str], list[_Stored]] = defaultdict(list)
    for been, step in _journeys(before):
        if isinstance(step, TypeText) and step.secret:
            known[_last(been), step.selector].append(_Stored(text=step.text, been=been))
    filled = []
    for number, (been, step) in enumerate(_journeys(steps), 1):
        if moved and isinstance(step, TypeText) and step.text == KEPT:
            raise PageOptionError(
                f"Step {number}: write the secret again. It was given before hosts were reached at other addresses."
            )
        filled.append(_filled(number, been, step, known))
    return tuple(filled)


def _recorded(text: str) -> tuple[Step, ...]:
    try:
        return parse_recording(text)
    except ScriptError as error:
        raise PageOptionError(str(error)) from error


def _step(line: str) -> Step:
    verb, _, rest = line.partition(" ")
    step = _made(verb.lower(), rest.strip())
    if step is None:
        # It is not repeated: it may be a secret.
        raise PageOptionError(f"This is no step. Write {STEP_FORMS}.")
    fault = step_fault(step)
    if fault is not None:
        raise PageOptionError(fault)
    return step


def _made(verb: str, rest: str) -> Step | None:
    if verb == "visit":
        return Visit(url=rest)
    if verb == "click":
        return Click(selector=rest)
    if verb == "press":
        return _press(rest)
    if verb == "wait" and rest.lower().startswith("for "):
        return WaitFor(selector=rest[4:].strip())
    return _typed(verb, rest) if verb in ("type", "secret") else None


def _press(name: str) -> Press:
    if name.lower() not in _KEYS:
        raise PageOptionError(f"Only these keys can be pressed: {', '.join(Key)}. Write press Enter.")
    return Press(key=_KEYS[name.lower()])


def _typed(verb: str, rest: str) -> TypeText:
    text, into, selector = rest.rpartition(" into ")
    if not into:
        raise PageOptionError(
            f"Write {verb} TEXT into SELECTOR, such as {verb} … into #{'user' if verb == 'type' else 'password'}."
        )
    is_kept = text.strip() == KEPT
    return TypeText(selector=selector.strip(), text=KEPT if is_kept else text, secret=verb == "secret")


def _line(step: Step) -> str:
    if isinstance(step, Visit):
        return f"visit {step.url}"
    if isinstance(step, Click):
        return f"click {step.selector}"
    if isinstance(step, WaitFor):
        return f"wait for {step.selector}"
    if isinstance(step, Press):
        return f"press {step.key}"
    return f"secret {KEPT} into {step.selector}" if step.secret else f"type {step.text} into {step.selector}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A secret, and the origins that steps had led to when it was typed."""

    text: str
    been: tuple[str, ...]


def _journeys(steps: Iterable[Step]) -> Iterator[tuple[tuple[str, ...], Step]]:
    """Each step with the origins that visits led to up to it, the last one at the end."""
    been: tuple[str, ...] = ()
    for step in steps:
        if isinstance(step, Visit):
            been = (*been, origin_of(step.url)[0])
        yield been, step


def _last(been: Sequence[str]) -> str:
    return been[-1] if been else ""


def _filled(
    number: int,
    been: tuple[str, ...],
    step: Step,
    known: dict[tuple[str, str], list[_Stored]],
) -> Step:
    if not isinstance(step, TypeText) or step.text != KEPT:
        return step
    stored = known[_last(been), step.selector]
    if not stored or not step.secret:
        place = _last(been)[:MAX_TEXT_CHARS] or "no page"
        raise PageOptionError(f"Step {number}: write the secret again. None is stored for this field of {place}.")
    kept = stored.pop(0)
    new = next((origin for origin in been if origin not in kept.been), None)
    if new is not None:
        raise PageOptionError(f"Step {number}: write the secret again. It was given before a step led to {new}.")
    return replace(step, text=kept.text)
