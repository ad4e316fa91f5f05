"""Task, queue and path names that both sides of the wire agree on: strings, so that no import crosses."""

from workers.measurement.messages import Kind

EXECUTE_TASK = "firstbyte.execute"

RESULTS_PATH = "/api/v1/agent/results"
HEARTBEAT_PATH = "/api/v1/agent/heartbeat"
PROGRESS_PATH = "/api/v1/agent/progress"
SCREENSHOT_PATH = "/api/v1/agent/screenshots/{run_id}"

HEARTBEAT_INTERVAL_S = 15


def queue_name(kind: Kind, *, urgent: bool) -> str:
    """The queue inside a region's own key prefix. Urgent work (a person waits) never stands behind the schedule."""
    return f"{kind}.now" if urgent else f"{kind}"


def key_prefix(region: str) -> str:
    """The prefix of every broker key of a region; its broker account may touch nothing else."""
    return f"{region}:"
