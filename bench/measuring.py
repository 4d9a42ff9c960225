#!/usr/bin/env python3
"""Measures how often verdicts are wrong, and writes the tables of docs/measuring.md.

usage: measuring.py LATHE --log FILE [--what ops|compare] [--write PAGE] [--problems N] [--networks LIST] [--tries N]
                    [--threads LIST] [--starts N] [--max-seconds S] [--repetitions N] [--max-minutes M] [--again]

ops: `lathe ops bench` times our provider against itself under other names: `twin`, which is the same, and providers whose
every run takes a known share longer (LATHE_INJECT_SLOWDOWN). compare: `lathe compare` times a package against copies of its
file: `twin.lathe`, and copies that the runner slows down by a known share. A verdict other than same or ambiguous of the
twin is a false alarm; `faster` of ours against a slowed one is a find. The sides are timed together and each pair is judged
as if it were alone.

Every row is added to FILE (JSON lines) as soon as it is measured. Rows of the same settings that are there already are not
measured again, so that a study may be interrupted at any time, or made in slices of --max-minutes; --again measures
rows again that other programs disturbed. Without --starts, --max-seconds and --repetitions the verb has its own defaults.
--write puts the table between the marks of PAGE, too.
"""
import argparse
import datetime
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import marks

os.environ["LATHE_NO_RECORDS"] = "1"  # the same kernels on every machine
PROBLEMS = [("conv2d", ["ic64ih56oc64kh3ph1", "ic256ih14oc256kh3ph1", "ic512ih7oc512kh3ph1", "ic3ih224oc64kh7sh2ph3", "ic256ih56oc64kh1",
                        "ic1024ih14oc256kh1", "ic192ih28oc96kh1", "ic16ih28oc32kh5ph2", "ic160ih17oc192kh7kw1ph3pw0", "ic128ih28oc128kh3ph1"]),
            ("depthwise", ["ic64ih112kh3ph1", "ic512ih14kh3ph1", "ic240ih28kh5ph2sh2"]),
            ("gemm", ["m128n768k768", "m384n1024k1024", "m35n2560k2560", "m7n3072k1024"]),
            ("fc", ["mb1ic2048oc1000", "mb1ic4096oc4096"]),
            ("matmul", ["12x128x64:12x64x128", "12x128x128:12x128x64"]),
            ("pool", ["ic64ih112kh3sh2ph1:max", "ic192ih28kh3ph1:avg"]),
            ("softmax", ["1536x128", "128x1000"]),
            ("layer_norm", ["128x768", "3136x96"]),
            ("eltwise", ["1x64x112x112:relu", "128x3072:gelu", "1x256x56x56:1x256x56x56:add"]),
            ("transpose", ["1x64x56x56:0,2,3,1", "768x768:1,0"])]
SLOWDOWNS = {"twin": 0.0, "slow2": 0.02, "slow5": 0.05, "slow10": 0.10}
DISTURBING = 0.15  # processors kept busy by others, as in lab/machine/Disturbance.h
NETWORKS = ["zoo:squeezenet", "zoo:shufflenet_v2", "zoo:mobilenet_v2", "zoo:lstm", "zoo:resnet18", "zoo:googlenet"]
BEGIN = {"ops": "<!-- bench/measuring.py writes from here -->", "compare": "<!-- bench/measuring.py --what compare writes from here -->"}


def providers(lathe, folder):
    """Our provider under each name, as files that the laboratory finds."""
    ours = os.path.join(os.path.dirname(os.path.abspath(lathe)), "lathe-provider-lathe")
    for name, share in SLOWDOWNS.items():
        os.makedirs(os.path.join(folder, name))
        path = os.path.join(folder, name, "provider")
        with open(path, "w") as file:
            file.write("#!/bin/sh\nLATHE_INJECT_SLOWDOWN=%s exec %s\n" % (share, ours))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def bench_flags(options):
    """The chosen flags of the verb, with which every row is measured."""
    flags = []
    for name in ("starts", "max_seconds", "repetitions"):
        value = getattr(options, name)
        if value is not None:
            flags += ["--" + name.replace("_", "-"), "%g" % value]
    return flags


def run(command, environment):
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit("measuring.py: %s: exit code %d" % (" ".join(command), done.returncode))


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")


def judged(verdict):
    return [verdict["verdict_alone"], verdict["ratio"], verdict["ratio_low"], verdict["ratio_high"]]


def compare_row(lathe, folder, network, number, threads, flags):
    """One row of `lathe compare`: a package and copies of it."""
    package, report = os.path.join(folder, "%s-%d.lathe" % (network.replace(":", "-"), threads)), os.path.join(folder, "report.json")
    if not os.path.exists(package):
        run([lathe, "compile", network, "--threads", str(threads), "-o", package, "--quiet"], {})
    copies = {name: os.path.join(folder, name + ".lathe") for name in SLOWDOWNS}
    for copy in copies.values():
        shutil.copyfile(package, copy)
    began = time.monotonic()
    run([lathe, "compare", package, "--with", ",".join(copies.values()), "--threads", str(threads), "--no-store", "--quiet", "--json", report, *flags],
        {"LATHE_INJECT_SLOWDOWN": ",".join("%s.lathe=%g" % entry for entry in SLOWDOWNS.items() if entry[1])})
    row = json.load(open(report))
    return {"flags": flags, "kind": network, "text": str(number), "threads": threads, "measured": now(), "seconds": time.monotonic() - began,
            "other_processors": row.get("other_processors", 0.0), "starts": row["starts"],
            "verdicts": {peer["peer"].removesuffix(".lathe"): judged(peer) for peer in row["peers"] if "ratio" in peer},
            "rounds_ns": {side["name"]: side["rounds_ns"] for side in row["sides"]}}


def ops_row(lathe, folder, kind, text, threads, flags):
    """One row of `lathe ops bench`."""
    report = os.path.join(folder, "report.json")
    columns = ",".join(["lathe:auto"] + [name + ":auto" for name in SLOWDOWNS])
    command = [lathe, "ops", "bench", kind, text, "--provider", columns, "--threads", str(threads), "--no-store", "--json", report, *flags]
    began = time.monotonic()
    run(command, {"LATHE_PROVIDERS": folder})
    row = json.load(open(report))["rows"][0]
    return {"flags": flags, "kind": kind, "text": text, "threads": threads, "measured": now(),
            "seconds": time.monotonic() - began, "other_processors": row.get("other_processors", 0.0), "starts": row["starts"],
            "verdicts": {verdict["peer"]: judged(verdict) for verdict in row["verdicts"]},
            "rounds_ns": {point["provider"]: point["rounds_ns"] for point in row["points"]}}


def read(path):
    """Reads rows of an earlier run. Removes a truncated last line: its row is measured again."""
    if not os.path.exists(path):
        return []
    text = open(path).read()
    whole = text[:text.rfind("\n") + 1]
    if whole != text:
        os.truncate(path, len(whole.encode()))
    rows = []
    for line in whole.splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            sys.exit("measuring.py: %s: '%.40s' is no row of a study" % (path, line))
    return rows


def machine():
    """This machine: "AMD EPYC, 2 processors, virtual"."""
    facts = open("/proc/cpuinfo").read()
    name = re.search(r"model name\s*: (.*)", facts)
    return "%s, %d processors%s" % (name.group(1).strip() if name else "unknown processor", os.cpu_count(), ", virtual" if "hypervisor" in facts else "")


def commit():
    """The state of the source tree that the program is assumed to be built from; with a + if it has uncommitted changes."""
    def git(*arguments):
        return subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), *arguments], capture_output=True, text=True).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!*.md")
    return (git("log", "-1", "--format=%h") or "?") + ("+" if changed else "")


def table(rows, flags, what):
    """The part of the page about these rows."""
    disturbed = sum(row["other_processors"] > DISTURBING for row in rows)
    text = "| injected | points | called different | faster | same | ambiguous | median ratio |\n|---|---|---|---|---|---|---|\n"
    for name, share in SLOWDOWNS.items():
        of = [row["verdicts"][name] for row in rows if name in row["verdicts"]]
        count = {word: sum(verdict[0] == word for verdict in of) for word in ("faster", "slower", "same", "ambiguous")}
        different = count["faster"] + count["slower"]
        ratios = sorted(verdict[1] for verdict in of)
        text += "| %.0f %% | %d | %d (%.1f %%) | %d | %d | %d | %.4f |\n" % (
            share * 100, len(of), different, 100 * different / len(of), count["faster"], count["same"], count["ambiguous"], ratios[len(ratios) // 2])
    seconds = sorted(row["seconds"] for row in rows)
    starts = sorted(len(row["starts"]) for row in rows)
    busy = sorted(row["other_processors"] for row in rows)
    middle = lambda values: values[len(values) // 2]
    kinds, problems = len({row["kind"] for row in rows}), len({(row["kind"], row["text"]) for row in rows})
    of = "%d problems" % problems if what == "ops" else "%d networks, %d tries each" % (kinds, problems // kinds)
    verb = "lathe ops bench" if what == "ops" else "lathe compare"
    text += "\n%s, threads %s, %s; %s to %s; %s; commit %s. " % (
        of, " and ".join(sorted({str(row["threads"]) for row in rows})), " ".join(flags) or "the defaults of `%s`" % verb,
        min(row["measured"] for row in rows), max(row["measured"] for row in rows), machine(), " and ".join(sorted({row.get("commit", "?") for row in rows})))
    text += "A row of five sides took %.1f s in the median (%.1f s at most) with preparing and checking, and %d starts (%d at most). " % (
        middle(seconds), seconds[-1], middle(starts), starts[-1])
    text += "Other programs kept more than %g processors busy during %s of %d rows; in the median row they kept %.2f busy, at most %.2f.\n" % (
        DISTURBING, disturbed or "none", len(rows), middle(busy), busy[-1])
    wrong = ["%s %s, %d thread%s: %.3f (%.3f to %.3f)" % (row["kind"], row["text"], row["threads"], "s" * (row["threads"] > 1), *row["verdicts"]["twin"][1:])
             for row in rows if row["verdicts"].get("twin", [""])[0] in ("faster", "slower")]
    if wrong:
        text += "\nCalled different and the same: %s.\n" % "; ".join(wrong)
    return text


def arguments():
    parser = argparse.ArgumentParser(usage=re.search(r"usage: (.*?)\n\n", __doc__, re.S).group(1))
    parser.add_argument("lathe")
    parser.add_argument("--log", required=True)
    parser.add_argument("--what", choices=["ops", "compare"], default="ops")
    parser.add_argument("--write", metavar="PAGE")
    parser.add_argument("--problems", type=int, default=100, help="of each kind at most (ops)")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="anything that `lathe compile` reads (compare)")
    parser.add_argument("--tries", type=int, default=5, help="rows of each network and number of threads (compare)")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--starts", type=int)
    parser.add_argument("--max-seconds", type=float)
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--max-minutes", type=float, default=0, help="after which no new row is begun")
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def points(options):
    """Kind, text and threads of every row."""
    threads = [int(word) for word in options.threads.split(",")]
    if options.what == "ops":
        return [(kind, text, count) for kind, texts in PROBLEMS for text in texts[: options.problems] for count in threads]
    return [(network, str(number), count) for number in range(options.tries) for network in options.networks.split(",") for count in threads]


def main():
    options = arguments()
    flags, wanted = bench_flags(options), points(options)
    row_of = {"ops": ops_row, "compare": compare_row}[options.what]
    key = lambda row: (row["kind"], row["text"], row["threads"])
    rows = {key(row): row for row in read(options.log) if row["flags"] == flags}  # of several the last
    missing = [point for point in wanted if point not in rows or (options.again and rows[point]["other_processors"] > DISTURBING)]
    began, left = time.monotonic(), len(missing)
    with tempfile.TemporaryDirectory() as folder, open(options.log, "a") as log:
        if options.what == "ops":
            providers(options.lathe, folder)
        for point in missing:
            if options.max_minutes and time.monotonic() - began > 60 * options.max_minutes:
                break
            kind, text, threads = point
            rows[point] = {"commit": commit(), **row_of(options.lathe, folder, kind, text, threads, flags)}
            log.write(json.dumps(rows[point]) + "\n")
            log.flush()
            left -= 1
    chosen = [rows[point] for point in wanted if point in rows]
    if chosen:
        text = table(chosen, flags, options.what)
        print(text)
        if options.write and not left:
            marks.write(options.write, BEGIN[options.what], text)
    if left:
        print("%d of %d rows are left: the same command goes on" % (left, len(wanted)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("measuring.py: interrupted; the same command goes on")
