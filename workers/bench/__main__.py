"""`python -m workers.bench`: a table of ratios with their targets; `--json` for one document on stdout.

`pages` is a page run beside other ways to load the page, `pairs` a pair beside two probes. The others are only run when
they are named: `accuracy` and `page-accuracy` compare the phases of a probe and of a page with the packets of their
networks, in ms. `odd-ways` asks what is told of broken and of healthy sites behind ways that are odd. `page-overhead`
tells how long a page run takes beyond its page, `soak` makes many in a row and asks whether anything grows.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

from workers.bench import accuracy, odd_ways, overhead, page_accuracy
from workers.bench import soak as soaking
from workers.bench.pages import Ratio, compare_page_runs
from workers.bench.pairs import compare_pairs
from workers.bench.probes import compare_probes

_PARTS: dict[str, tuple[str, Callable[[int], Sequence[Ratio]]]] = {
    "pages": ("CPU seconds of one page run of 60 requests, medians of interleaved rounds", compare_page_runs),
    "probes": ("CPU seconds of one light probe, means of interleaved turns", compare_probes),
    "pairs": ("CPU seconds of one pair, cold and reused, medians of interleaved rounds", lambda n: [compare_pairs(n)]),
}

_ACCURACY, _PAGE_ACCURACY, _OVERHEAD, _SOAK = "accuracy", "page-accuracy", "page-overhead", "soak"
_ODD_WAYS = "odd-ways"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workers.bench", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        choices=[*_PARTS, _ACCURACY, _PAGE_ACCURACY, _ODD_WAYS, _OVERHEAD, _SOAK, []],
        help=f"which of {', '.join(_PARTS)}; all by default",
    )
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (default 7)")
    parser.add_argument("--runs", type=int, default=soaking.RUNS, help="page runs of the soak (default 500)")
    parser.add_argument("--seeds", type=int, default=odd_ways.SEEDS, help="how often each odd way is made (default 2)")
    parser.add_argument("--recycle", type=int, default=100, help="after how many runs its browser is replaced (100)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    if options.parts == [_ACCURACY]:
        return _tell_accuracy(as_json=options.json)
    if options.parts == [_PAGE_ACCURACY]:
        return _tell_page_accuracy(as_json=options.json)
    if options.parts == [_ODD_WAYS]:
        return _tell_odd_ways(options.seeds, as_json=options.json)
    if options.parts == [_OVERHEAD]:
        return _tell_overhead(as_json=options.json)
    if options.parts == [_SOAK]:
        return _tell_soak(options.runs, options.recycle, as_json=options.json)
    found: dict[str, Sequence[Ratio]] = {}
    for part in options.parts or _PARTS:
        title, measure = _PARTS[part]
        found[part] = measure(options.rounds)
        if not options.json:
            print(title)
            for ratio in found[part]:
                print(_line(ratio))
    if options.json:
        print(json.dumps([_document(ratio) for ratios in found.values() for ratio in ratios], indent=2))
    return 0 if all(ratio.met for ratios in found.values() for ratio in ratios) else 1


def _tell_soak(runs: int, recycle_after: int, *, as_json: bool) -> int:
    found = soaking.soak(runs, recycle_after=recycle_after)
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2))
    else:
        print(f"{runs} page runs in a row", *soaking.lines(found), sep="\n")
    return 0 if all(one.met for one in found) else 1


def _tell_overhead(*, as_json: bool) -> int:
    found = overhead.measure()
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        print("Seconds of a page run beyond its page and the wait for quiet", *overhead.lines(found), sep="\n")
    return 0 if overhead.met(found) else 1


def _tell_accuracy(*, as_json: bool) -> int:
    found = accuracy.measure()
    if as_json:
        print(json.dumps([row for one in found for row in accuracy.document(one)], indent=2))
    else:
        print(f"{'phases minus packets, ms':24}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}")
        for one in found:
            print("\n".join(accuracy.lines(one)))
    return 0 if all(accuracy.met(one, phase) for one in found for phase in accuracy.LIMITS_US) else 1


def _tell_page_accuracy(*, as_json: bool) -> int:
    found = page_accuracy.measure_pages()
    if as_json:
        print(json.dumps(page_accuracy.document(found), indent=2))
    else:
        print(f"{'phases minus packets, ms':22}{'p50':>9}{'p90':>9}{'max':>9}")
        print("\n".join(page_accuracy.lines(found)))
    return 0 if all(map(page_accuracy.met, found.values())) else 1


def _tell_odd_ways(seeds: int, *, as_json: bool) -> int:
    found = odd_ways.measure(seeds)
    print(json.dumps(odd_ways.document(found), indent=2) if as_json else "\n".join(odd_ways.lines(found)))
    return 0 if odd_ways.met(found) else 1


def _document(ratio: Ratio) -> dict[str, object]:
    return {
        "peer": ratio.peer,
        "ours_s": round(ratio.ours_s, 5),
        "peer_s": round(ratio.peer_s, 5),
        "ratio": round(ratio.ratio, 3),
        "target": ratio.target,
        "met": ratio.met,
    }


def _line(ratio: Ratio) -> str:
    costs = f"  {ratio.ours_s:8.4f} s   {ratio.peer:62} {ratio.peer_s:8.4f} s   ratio {ratio.ratio:.2f}"
    if ratio.target is None:
        return costs
    return f"{costs}, target {ratio.target:.3g}: {'met' if ratio.met else 'MISSED'}"


if __name__ == "__main__":
    sys.exit(main())
