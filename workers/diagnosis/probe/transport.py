"""The rules on TCP as the server is set up: its window, what idling does to it, and small writes."""

from workers.diagnosis.case import Rule
from workers.diagnosis.probe.held_ends import nagle_delayed_ack
from workers.diagnosis.probe.restarts import idle_restart
from workers.diagnosis.probe.small_windows import iw_small

RULES: tuple[Rule, ...] = (iw_small, idle_restart, nagle_delayed_ack)
