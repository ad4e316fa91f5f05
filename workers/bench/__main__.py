"""`python -m workers.bench`: a table of ratios with their targets; `--json` for one document on stdout."""

import argparse
import json
import sys

from workers.bench.pages import Ratio, compare_page_runs


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workers.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds; medians are compared (default 7)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    ratios = compare_page_runs(options.rounds)
    if options.json:
        print(json.dumps([_document(ratio) for ratio in ratios], indent=2))
    else:
        print("CPU seconds of one page run of 60 requests, medians of interleaved rounds")
        for ratio in ratios:
            print(_line(ratio))
    return 0 if any(ratio.met for ratio in ratios) else 1


def _document(ratio: Ratio) -> dict[str, object]:
    return {
        "peer": ratio.peer,
        "ours_s": round(ratio.ours_s, 3),
        "peer_s": round(ratio.peer_s, 3),
        "ratio": round(ratio.ratio, 3),
        "target": ratio.target,
        "met": ratio.met,
    }


def _line(ratio: Ratio) -> str:
    verdict = "met" if ratio.met else "MISSED"
    costs = f"  {ratio.ours_s:6.2f} s   {ratio.peer:22} {ratio.peer_s:6.2f} s"
    return f"{costs}   ratio {ratio.ratio:.2f}, target {ratio.target}: {verdict}"


if __name__ == "__main__":
    sys.exit(main())
