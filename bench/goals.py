"""Compares the goals of Lathe (issue 4) with the rows of a run."""

# Networks of shared/design/kernels.md, over which the geometric mean is asked for.
MEASURED_BEFORE = """resnet18 resnet50 resnet101 densenet121 googlenet inception_v3 vgg16 alexnet squeezenet1_1 mobilenet_v2 mobilenet_v3_large efficientnet_b0
shufflenet_v2_x1_0 mnasnet1_0 vit_b_16""".split()
RATIOS = {"vgg16": 1.9, "resnet18": 1.6, "googlenet": 1.4, "resnet50": 1.25, "mobilenet_v2": 1.15, "shufflenet_v2_x1_0": 2.0, "alexnet": 1.2, "vit_b_16": 1.03,
          "zoo:gpt2_small": 1.2, "zoo:lstm": 1.2}
BF16 = {"vgg16": 1.5, "vit_b_16": 1.5, "resnet50": 1.5}  # over our own fp32


def goals(page, geometric_mean, plural):
    """-> rows (goal, wanted, measured, "met" or "missed") for the goals that were measured."""
    rows = []

    def add(goal, wanted, measured, met):
        rows.append([goal, wanted, measured, "met" if met else "**missed**"])

    settings = page.settings
    for threads in settings.threads:
        at = "at %s" % plural(threads, "thread")
        ratios = [ratio for network in MEASURED_BEFORE if (ratio := page.ratio(network, threads))]
        if ratios:
            mean = geometric_mean(ratios)
            add("geometric mean of the ratios to ONNX Runtime over %s of torchvision %s" % (plural(len(ratios), "network"), at),
                "at least 1.35", "%.3f" % mean, mean >= 1.35)
        slower = [network.replace("zoo:", "") for network in settings.networks if (row := page.networks[(network, threads)]) and row.get("peers") and
                  row["peers"][0]["verdict"] == "slower"]
        if any(page.ratio(network, threads) for network in settings.networks):
            add("networks with the verdict *slower* " + at, "none", ", ".join(slower) or "none", not slower)
        short = ["%s %.3f (%g)" % (network.replace("zoo:", ""), ratio, wanted) for network, wanted in RATIOS.items()
                 if network in settings.networks and (ratio := page.ratio(network, threads)) and ratio < wanted]
        asked = [network for network in RATIOS if network in settings.networks and page.ratio(network, threads)]
        if asked:
            add("ratios of %s by name %s" % (plural(len(asked), "network"), at), "each its own", "below: " + ", ".join(short) if short else "all reached", not short)
        for summary in page.convolutions["summaries"]:
            if summary["threads"] == threads and summary["kind"] in ("all", "3x3") and summary["geometric_mean"] is not None:
                wanted = 1.1 if summary["kind"] == "all" else 1.3
                add("geometric mean of the ratios to oneDNN over %s convolutions %s" % (summary["kind"], at), "at least %g" % wanted, "%.3f" % summary["geometric_mean"],
                    summary["geometric_mean"] >= wanted)
            if summary["threads"] == threads and summary["kind"] == "all":
                share = summary["slower_beyond_3_percent"] / summary["rows"]
                add("convolutions with the verdict *slower* by more than 3 % " + at, "at most 2 %", "%.1f %%" % (100 * share), share <= 0.02)
        images = [row["sides"][0]["time"]["median_ms"] / batch for batch in page.batches if (row := page.batch[(batch, threads)]).get("sides")]
        if len(images) == len(page.batches):
            grows = any(after > 1.02 * before for before, after in zip(images, images[1:]))  # as for verdicts, 2 % do not count
            add("resnet50's time an image over batches %s %s" % (", ".join(map(str, page.batches)), at), "never grows", ", ".join("%.2f ms" % value for value in images), not grows)
        rounded = {network: row["peers"][0]["ratio"] for network in BF16 if (row := page.bf16[(network, threads)]).get("peers")}
        if rounded:
            low = ["%s %.2f" % (network, ratio) for network, ratio in rounded.items() if ratio < BF16[network]]
            add("`--precision bf16` over our own fp32 on %s %s" % (", ".join(rounded), at), "at least 1.5 each",
                "below: " + ", ".join(low) if low else ", ".join("%.2f" % ratio for ratio in rounded.values()), not low)
    if settings.threads == [1, 2]:
        speedups = {network: page.speedup(network) for network in settings.networks}
        long = {network: value for network, value in speedups.items() if value and page.milliseconds(network, 1) > 20}
        if long:
            low = ["%s %.2f" % (network.replace("zoo:", ""), value) for network, value in long.items() if value < 1.85]
            add("2 threads over 1 on %s above 20 ms" % plural(len(long), "network"), "at least 1.85", "below: " + ", ".join(low) if low else "all reached", not low)
    shares = {network: page.memory_share(row) for network, row in page.memory.items() if "failure" not in row}
    if shares:
        above = ["%s %.2f" % (network.replace("zoo:", ""), share) for network, share in shares.items() if share > 1.1]
        add("memory beyond an empty process over packed constants plus largest live set, %s" % plural(len(shares), "network"), "at most 1.1",
            "above: " + ", ".join(above) if above else "all reached", not above)
    return rows
