"""What every command takes that draws. Imported with every command, so it imports next to nothing."""

import argparse


def add_all(parser: argparse.ArgumentParser) -> None:
    told = "draw all of it, as files and pipes are told, and not only what fits the screen"
    parser.add_argument("--all", action="store_true", help=told)
