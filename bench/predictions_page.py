"""Writes docs/predictions.md: the cost model's predictions and measured times, for all kernels of the networks of bench.py."""

import figures
import performance_page

FAMILY_OF_OTHERS = "others"  # families with fewer kernels than LEAST on the page
LEAST = 10
WORST = 15


def kernels_of(row, network, threads):
    """Kernels of a profile that have a prediction. -> [{network, threads, family, nodes, schedule, ms, predicted_ms, share}]"""
    return [{"network": network.replace("zoo:", ""), "threads": threads, "family": kernel["family"], "nodes": "+".join(kernel["nodes"]) or kernel["name"],
             "schedule": kernel["schedule"], "ms": kernel["time_ms"], "predicted_ms": kernel["predicted_ms"], "share": kernel["share"]}
            for kernel in row["rows"] if kernel["kind"] == "kernel" and kernel["predicted_ms"] and kernel["time_ms"] > 0]


def ratio(kernel):
    return kernel["predicted_ms"] / kernel["ms"]


def within(kernels, factor):
    """Share of the kernels whose prediction is at most `factor` times too high or too low."""
    return sum(1 / factor <= ratio(kernel) <= factor for kernel in kernels) / len(kernels)


def summary(kernels):
    """Cells of a table row: kernels, measured time, predicted over measured time, geometric mean and spread of the ratios."""
    ratios = sorted(map(ratio, kernels))
    measured, predicted = sum(kernel["ms"] for kernel in kernels), sum(kernel["predicted_ms"] for kernel in kernels)
    tenth = lambda share: ratios[min(len(ratios) - 1, int(share * len(ratios)))]
    return ["%d" % len(kernels), "%.2f ms" % measured, "%.2f" % (predicted / measured), "%.2f" % performance_page.geometric_mean(ratios),
            "%.2f to %.2f" % (tenth(0.1), tenth(0.9)), "%.0f %%" % (100 * within(kernels, 1.5)), "%.0f %%" % (100 * within(kernels, 2))]


COLUMNS = ["kernels", "measured", "predicted / measured, sum", "geometric mean", "10th to 90th percentile", "within 1.5 times", "within 2 times"]


def ordered(kernels):
    """Spearman's rank correlation of predicted and measured times."""
    def ranks(key):
        order = sorted(range(len(kernels)), key=lambda i: kernels[i][key])
        result = [0] * len(kernels)
        for rank, i in enumerate(order):
            result[i] = rank
        return result
    a, b = ranks("ms"), ranks("predicted_ms")
    mean = (len(kernels) - 1) / 2
    spread = sum((x - mean) ** 2 for x in a)
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / spread if spread else 1


def by_family(kernels):
    """-> [(name, kernels)], the family with the most time first; families of few kernels are combined."""
    families = {}
    for kernel in kernels:
        families.setdefault(kernel["family"], []).append(kernel)
    few = [kernel for group in families.values() if len(group) < LEAST for kernel in group]
    groups = [(name, group) for name, group in families.items() if len(group) >= LEAST] + ([(FAMILY_OF_OTHERS, few)] if few else [])
    return sorted(groups, key=lambda group: -sum(kernel["ms"] for kernel in group[1]))


def sections(threads, rows):
    """`rows`: network -> row of bench.py."""
    kernels = [kernel for network, row in rows.items() if "failure" not in row for kernel in kernels_of(row, network, threads)]
    text = ["## %s\n" % performance_page.plural(threads, "thread")]
    for network, row in rows.items():
        if "failure" in row:
            text.append("%s: %s\n" % (network.replace("zoo:", ""), row["failure"]))
    if not kernels:
        return "\n".join(text), kernels
    clocks = [row["clock_ghz"] for row in rows.values() if "failure" not in row]
    extremes = " to ".join(dict.fromkeys("%.2f" % clock for clock in (min(clocks), max(clocks))))
    text.append("The cost model predicts cycles. They become times with the clock that was measured during each profile (%s GHz). "
                "The rank correlation (Spearman) of predicted and measured times over all kernels is %.3f.\n" % (extremes, ordered(kernels)))
    text.append(performance_page.table(["family", *COLUMNS], [[name, *summary(group)] for name, group in by_family(kernels)] + [["all", *summary(kernels)]]))
    text.append(performance_page.table(["network", *COLUMNS], [[network.replace("zoo:", ""), *summary(group)] for network, row in rows.items()
                                                               if "failure" not in row and (group := kernels_of(row, network, threads))]))
    lost = lambda kernel: abs(kernel["ms"] - kernel["predicted_ms"])
    text.append("The %d kernels with the largest difference between predicted and measured time:\n" % min(WORST, len(kernels)))
    text.append(performance_page.table(["network", "nodes", "family", "schedule", "measured", "predicted / measured"],
                                       [[kernel["network"], "`%s`" % kernel["nodes"], kernel["family"], "`%s`" % kernel["schedule"], "%.3f ms" % kernel["ms"],
                                         "%.2f" % ratio(kernel)] for kernel in sorted(kernels, key=lost, reverse=True)[:WORST]]))
    return "\n".join(text), kernels


def write(root, lathe, settings, rows):
    """`rows`: (network, threads) -> row. Writes docs/predictions.md and its plot. -> the page's path, or None if nothing was measured"""
    done = [row for row in rows.values() if "failure" not in row]
    if not done:
        return None
    facts = performance_page.machine(lathe)
    commits = sorted({row["commit"] for row in done if row.get("commit")})
    finished = sorted(row["finished"] for row in done)
    parts, points = [], {}
    for threads in settings.threads:
        part, kernels = sections(threads, {network: rows[(network, threads)] for network in settings.networks})
        parts.append(part)
        if kernels:
            points[performance_page.plural(threads, "thread")] = [(kernel["ms"], kernel["predicted_ms"]) for kernel in kernels]
    plot = root / "docs" / "predictions.svg"
    if picture := figures.scatter("Predicted over measured time of each kernel", "measured, ms", "predicted, ms", points):
        plot.write_text(picture)
    page = root / "docs" / "predictions.md"
    page.write_text("\n".join([
        "<!-- Written by bench/bench.py (make bench); do not edit. -->",
        "# How close are predicted times to measured times?\n",
        "The cost model (`codegen/cost/`) predicts the time of every kernel with the schedule that the compiler chose. This page holds the prediction",
        "against the time that `lathe profile` measures, for each kernel of %s." % performance_page.plural(len({network for network, threads in rows if "failure" not in rows[(network, threads)]}), "network"),
        "The constants of the cost model are not fitted to these times. How well the model *orders* schedules of one kernel is in",
        "[notes/predicting.md](notes/predicting.md).\n",
        "- **Machine**: %s (%s), caches and rates from the facts that the compiler uses ([machine.md](machine.md))." % (facts.get("cpu", "?"), performance_page.cpu_name(facts)),
        "- **Version**: Lathe commit %s; measured from %s to %s." % (", ".join(commits), finished[0], finished[-1]),
        "- **Ratio**: predicted over measured time; below 1 the kernel takes longer than predicted.\n",
        "![predicted over measured](predictions.svg)\n", *parts]))
    return page
