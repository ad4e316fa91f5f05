"""What `firstbyte probe` takes besides the options that all measuring commands share."""

import argparse

from workers.measurement.evidence import Depth

PROBE = """\
Asks for the URL over connections of our own and says where the milliseconds before the first byte go, and why: DNS,
TCP, TLS, wait and download are timed apart, and some forty known causes are looked for. A deep probe makes about ten
connections, one after another, and takes a few seconds; a light one makes a single connection and can judge less.
"""
_MAX_SAMPLES = 50


def add_probe(parser: argparse.ArgumentParser) -> None:
    depth = parser.add_mutually_exclusive_group()
    deep = "about ten connections, each asking something else (the default)"
    depth.add_argument("--deep", dest="depth", action="store_const", const=Depth.DEEP, default=Depth.DEEP, help=deep)
    depth.add_argument("--light", dest="depth", action="store_const", const=Depth.LIGHT, help="one connection")
    more = "measure N times, the first as deep as asked for; the one with the median first byte is told (1)"
    parser.add_argument("--samples", metavar="N", type=_samples, default=1, help=more)
    parser.add_argument("--flights", action="store_true", help="draw what went which way on the connection, and when")


def _samples(text: str) -> int:
    count = int(text)
    if not 1 <= count <= _MAX_SAMPLES:
        raise argparse.ArgumentTypeError(f"must be from 1 to {_MAX_SAMPLES}")
    return count
