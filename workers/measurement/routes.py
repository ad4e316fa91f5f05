"""Task, queue and path names that both sides of the wire agree on: strings, so that no import crosses."""

from enum import StrEnum

from workers.measurement.messages import Kind

EXECUTE_TASK = "firstbyte.execute"

# Below it all is for agents.
AGENT_PATH = "/api/v1/agent/"
RESULTS_PATH = f"{AGENT_PATH}results"
HEARTBEAT_PATH = f"{AGENT_PATH}heartbeat"
PROGRESS_PATH = f"{AGENT_PATH}progress"
PICTURE_PATH = f"{AGENT_PATH}{{kind}}/{{run_id}}"

HEARTBEAT_INTERVAL_S = 15
# A region's code is a key prefix in the broker: no character that one of its patterns or a path would read differently.
REGION_PATTERN = r"^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])$"


class PictureKind(StrEnum):
    """The pictures that a page run brings beside its result; the word is in its path and names its folder.

    A film is one picture: the frames of `messages.PageMeasurement.film` side by side.
    """

    SCREENSHOT = "screenshots"
    FILM = "films"


class Lane(StrEnum):
    """Which queue of its kind a run waits in, so that nothing of a later lane stands before an earlier one.

    A person waits for `now`, a pipeline for `gate`, the clock for `schedule`.
    """

    NOW = "now"
    GATE = "gate"
    SCHEDULE = "schedule"


def queue_name(kind: Kind, lane: Lane) -> str:
    """The queue inside a region's own key prefix."""
    return f"{kind}" if lane is Lane.SCHEDULE else f"{kind}.{lane}"


def key_prefix(region: str) -> str:
    """The prefix of every broker key of a region; its broker account may touch nothing else."""
    return f"{region}:"
