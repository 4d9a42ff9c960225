#!/usr/bin/python3
"""Runs tests and says in the last three lines which ran, which were skipped, and why.

usage: run_tests.py BUILD-FOLDER [ARGUMENT OF ctest ...]

A test that is skipped says why in a line that begins with "skipped:" or, of GoogleTest, in its message. A program of
GoogleTest counts as skipped when it has skipped all of its tests. With LATHE_TEST_STRICT=1 a test that is skipped because
something is not installed fails: continuous integration installs everything.
Exit code: as ctest, and 1 for such tests.
"""
import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree


def reason_of(output):
    """The reason that a skipped test prints."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line, following in zip(lines, lines[1:]):
        if re.search(r": Skipped$", line):  # GoogleTest prints the message behind it
            return following
    for line in lines:
        if match := re.match(r"(?:\S+: )?skipped:? (.*)", line, re.IGNORECASE):
            return match[1]
    return lines[-1] if lines else "it does not say why"


def ran_nothing(output):
    """Whether a program of GoogleTest has skipped all of its tests."""
    return "[  PASSED  ] 0 tests." in output and "[  SKIPPED ]" in output


def main():
    build, given = sys.argv[1], sys.argv[2:]
    report = os.path.join(os.path.abspath(build), "Testing", "tests.xml")
    if os.path.exists(report):
        os.remove(report)
    code = subprocess.run(["ctest", "--test-dir", build, "--output-on-failure", "--output-junit", report,
                           "--test-output-size-passed", "65536", *given], check=False).returncode
    if not os.path.exists(report):
        sys.exit(code or 1)
    suite = xml.etree.ElementTree.parse(report).getroot()
    by_status = collections.defaultdict(list)
    for case in suite.iter("testcase"):
        by_status[case.get("status")].append(case)
    # A program that is missing has not run either, but that must fail.
    skipped = [case for case in by_status["notrun"] if case.find("skipped").get("message", "").startswith("SKIP")]
    skipped += [case for case in by_status["run"] if ran_nothing(case.findtext("system-out") or "")]
    failed = by_status["fail"] + [case for case in by_status["notrun"] if case not in skipped]
    reasons = collections.defaultdict(list)
    for case in skipped:
        reasons[reason_of(case.findtext("system-out") or case.find("skipped").get("message", ""))].append(case.get("name"))
    total = sum(map(len, by_status.values()))
    print(f"ran: {total - len(skipped)} of {total} tests in {float(suite.get('time', 0)):.0f} s, {len(failed)} failed"
          + "".join(f" {case.get('name')}" for case in failed))
    print(f"skipped: {len(skipped)}" + "".join(f" {name}" for names in reasons.values() for name in names))
    print("why: " + ("; ".join(f"{len(names)}: {reason}" for reason, names in reasons.items()) or "nothing was skipped"))
    missing = [reason for reason in reasons if re.search(r"missing|not installed|cannot be imported|No module", reason)]
    if os.environ.get("LATHE_TEST_STRICT") == "1" and missing:
        sys.exit(f"LATHE_TEST_STRICT: tests were skipped for what is not installed: {'; '.join(missing)}")
    sys.exit(code)


main()
