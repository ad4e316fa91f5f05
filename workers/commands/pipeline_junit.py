"""A gate as a JUnit report, which GitLab, Jenkins and Azure show beside other tests. Standard library only.

There is no standard; this keeps to what all of them read: `testcase` with at most one of `failure`, `error`, `skipped`.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from workers.commands import EXIT_FAILED, EXIT_NOT_MEASURED
from workers.commands.output import harmless
from workers.commands.pipeline_rules import written_rule

# What a case that did not pass is called in the file.
Mark = Literal["failure", "error", "skipped"]


def junit_of(gate: Mapping[str, Any]) -> str:
    """One case a rule. It has a failure where the exit code is 1, an error where it is 4, and neither of both else."""
    cases = [_case_of(rule, gate) for rule in gate["rules"]]
    marks = {case[0].tag for case in cases if len(case)}
    # What ended the gate may be said of no rule: nobody waited until they were judged, or what was left open fails.
    missing: Mapping[int, Mark] = {EXIT_FAILED: "failure", EXIT_NOT_MEASURED: "error"}
    mark = missing.get(gate["exit_code"])
    if mark is not None and mark not in marks:
        cases.append(_case("verdict", gate["site_name"], mark, gate["summary"] or f"The gate is {gate['status']}."))
    told = [gate["summary"], *(f"note: {warning}" for warning in gate["warnings"]), gate["url"]]
    return _document(f"firstbyte gate: {gate['site_name']}", cases, "\n".join(told), gate["runs"]["duration_s"])


def junit_of_no_gate(site: str, why: str) -> str:
    """Of a question that the service could not be asked, or did not answer."""
    return _document(f"firstbyte gate: {site}", [_case("verdict", site, "error", why)], why, None)


def _case_of(rule: Mapping[str, Any], gate: Mapping[str, Any]) -> Element:
    name = f"{rule['kind']} {written_rule(rule)}"
    decides = rule["level"] == "fail"
    return _case(
        name if decides else f"{name} (warning)", gate["site_name"], _mark_of(rule, gate, decides), rule["sentence"]
    )


def _mark_of(rule: Mapping[str, Any], gate: Mapping[str, Any], decides: bool) -> Mark | None:
    """None for what passed. What is only told fails nothing, here as in the exit code."""
    if rule["verdict"] == "pass":
        return None
    if decides and rule["verdict"] == "fail":
        return "failure"
    if decides and (rule["verdict"] == "error" or (rule["verdict"] is None and gate["exit_code"] == EXIT_NOT_MEASURED)):
        return "error"
    return "skipped"


def _case(name: str, site: str, mark: Mark | None, sentence: str) -> Element:
    # XML has no way at all to write most control characters.
    case = Element("testcase", {"classname": harmless(f"firstbyte.{site}"), "name": harmless(name)})
    if mark is not None:
        SubElement(case, mark, {"message": harmless(sentence)}).text = harmless(sentence)
    return case


def _document(name: str, cases: list[Element], told: str, duration_s: int | None) -> str:
    marks = Counter(case[0].tag for case in cases if len(case))
    counts = {"tests": len(cases), "failures": marks["failure"], "errors": marks["error"], "skipped": marks["skipped"]}
    numbers = {key: str(value) for key, value in {**counts, "time": duration_s or 0}.items()}
    # The schema of Jenkins' xUnit plugin, which refuses whole files, counts what was skipped by suite alone.
    suites = Element("testsuites", {key: value for key, value in numbers.items() if key != "skipped"})
    suite = SubElement(suites, "testsuite", {"name": harmless(name), **numbers})
    suite.extend(cases)
    SubElement(suite, "system-out").text = harmless(told)
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'
