"""A script as people write it, one step a line, and as it is shown again, without its secrets. Pure.

visit https://shop.example/login
type me@example.com into #user
secret sesame into #password
click #go
wait for .account
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from workers.measurement.page_options import MAX_STEPS, Click, Step, TypeText, Visit, WaitFor
from workers.measurement.page_rules import PageOptionError, step_fault
from workers.measurement.recorded_script import ScriptError, parse_recording

# What stands for a secret that is stored, and asks for it to be kept.
KEPT = "\N{BULLET}" * 8
_FORMS = "visit URL, click SELECTOR, type TEXT into SELECTOR, secret TEXT into SELECTOR or wait for SELECTOR"


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


def with_kept(steps: Iterable[Step], before: Iterable[Step]) -> tuple[Step, ...]:
    """The steps with the secrets that are to be kept.

    One is kept only for the field and the server it was written for, so that nobody who may change a script but does
    not know its secrets can send them elsewhere. Raises PageOptionError for one that is not there.
    """
    known: dict[tuple[str, str], list[str]] = defaultdict(list)
    for place, step in _places(before):
        if isinstance(step, TypeText) and step.secret:
            known[place, step.selector].append(step.text)
    return tuple(_filled(number, place, step, known) for number, (place, step) in enumerate(_places(steps), 1))


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
        raise PageOptionError(f"This is no step. Write {_FORMS}.")
    fault = step_fault(step)
    if fault is not None:
        raise PageOptionError(fault)
    return step


def _made(verb: str, rest: str) -> Step | None:
    if verb == "visit":
        return Visit(url=rest)
    if verb == "click":
        return Click(selector=rest)
    if verb == "wait" and rest.lower().startswith("for "):
        return WaitFor(selector=rest[4:].strip())
    return _typed(verb, rest) if verb in ("type", "secret") else None


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
    return f"secret {KEPT} into {step.selector}" if step.secret else f"type {step.text} into {step.selector}"


def _places(steps: Iterable[Step]) -> Iterator[tuple[str, Step]]:
    """Each step with the server that the last visit before it led to."""
    place = ""
    for step in steps:
        if isinstance(step, Visit):
            place = "{0.scheme}://{0.netloc}".format(urlsplit(step.url))
        yield place, step


def _filled(number: int, place: str, step: Step, known: dict[tuple[str, str], list[str]]) -> Step:
    if not isinstance(step, TypeText) or step.text != KEPT:
        return step
    texts = known[place, step.selector]
    if not texts or not step.secret:
        raise PageOptionError(
            f"Step {number}: write the secret again. None is stored for this field of {place or 'no page'}."
        )
    return TypeText(selector=step.selector, text=texts.pop(0), secret=True)
