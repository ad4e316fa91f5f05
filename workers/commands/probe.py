"""`firstbyte probe`: one raw TLS probe from this machine."""

import argparse

from workers.commands.measuring import EVERY_PORT, allowed_of, request_of, show, tell
from workers.measurement.document import probe_document
from workers.measurement.messages import Kind
from workers.probes.engine import Engine
from workers.probes.settings import ProbeSettings


def run(arguments: argparse.Namespace) -> int:
    """Measures, shows, and gives the exit code. Raises UsageError."""
    request = request_of(arguments, Kind.PROBE)
    settings = ProbeSettings(
        in_flight=1, allowed=allowed_of(arguments), extra_ports=EVERY_PORT, ca_file=arguments.cacert
    )
    with Engine(settings) as engine:
        outcome = engine.probe(request, tell)
    return show(outcome, probe_document(request.url, outcome), as_json=arguments.json)
