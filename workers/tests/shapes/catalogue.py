"""Every page shape, by name."""

from workers.tests.shapes.askers import ASKERS
from workers.tests.shapes.connections import CONNECTIONS
from workers.tests.shapes.requests import REQUESTS
from workers.tests.shapes.retries import RETRIES
from workers.tests.shapes.service_workers import SERVICE_WORKERS
from workers.tests.shapes.ways import WAYS

SHAPES = CONNECTIONS | WAYS | ASKERS | SERVICE_WORKERS | REQUESTS | RETRIES
