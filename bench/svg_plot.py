"""Plots as SVG text, without libraries: bars with whiskers, sorted points, points over two logarithmic axes."""
import math

COLOURS = ["#2b6cb0", "#dd8a28", "#4a9e5c", "#9a4fb0", "#777777", "#c0392b"]
STYLE = "font-family='sans-serif' font-size='12'"


def text(x, y, content, anchor="start", more=""):
    content = str(content).replace("&", "&amp;").replace("<", "&lt;")
    return "<text x='%.1f' y='%.1f' text-anchor='%s' %s>%s</text>" % (x, y, anchor, more, content)


def line(x1, y1, x2, y2, colour="#cccccc", width=1):
    return "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='%g'/>" % (x1, y1, x2, y2, colour, width)


def document(width, height, parts):
    return "\n".join(["<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' %s>" % (width, height, width, height, STYLE),
                      "<rect width='100%' height='100%' fill='white'/>", *parts, "</svg>", ""])


def steps(most):
    step = 0.25 if most <= 2.5 else 0.5 if most <= 5 else 1
    return [step * i for i in range(int(most / step) + 1)]


def legend(names, x, y):
    parts = []
    for i, name in enumerate(names):
        parts += ["<rect x='%.1f' y='%.1f' width='10' height='10' fill='%s'/>" % (x, y - 9, COLOURS[i % len(COLOURS)]), text(x + 15, y, name)]
        x += 30 + 7 * len(name)
    return parts


def bars(title, series, rows):
    """`series`: names; `rows`: (label, [(value, low, high) or None for each series]). Horizontal, a line at 1."""
    left, right, top, bar = 150, 30, 60, 9
    band = bar * len(series) + 8
    width, height = 820, top + band * len(rows) + 30
    most = max([cell[2] for _, cells in rows for cell in cells if cell] + [1.25]) * 1.03
    x = lambda value: left + (width - left - right) * value / most
    parts = [text(width / 2, 22, title, "middle", "font-weight='bold'")] + legend(series, left, 44)
    for value in steps(most):
        parts += [line(x(value), top - 4, x(value), height - 24), text(x(value), height - 8, "%g" % value, "middle")]
    for i, (label, cells) in enumerate(rows):
        y = top + band * i
        parts.append(text(left - 8, y + band / 2 + 2, label, "end"))
        for j, cell in enumerate(cells):
            if not cell:
                continue
            value, low, high = cell
            at = y + bar * j
            parts += ["<rect x='%.1f' y='%.1f' width='%.1f' height='%d' fill='%s'/>" % (left, at, x(value) - left, bar - 1, COLOURS[j % len(COLOURS)]),
                      line(x(low), at + bar / 2 - 0.5, x(high), at + bar / 2 - 0.5, "#222222")]
    parts.append(line(x(1), top - 4, x(1), height - 24, "#222222", 1.5))
    return document(width, height, parts)


def sortedPoints(title, series):
    """`series`: name -> ratios. Each drawn in ascending order over the same width, logarithmic, a line at 1."""
    left, right, top, bottom, width, height = 60, 20, 60, 40, 820, 380
    values = [value for ratios in series.values() for value in ratios]
    low, high = min(values + [0.8]) * 0.95, max(values + [1.25]) * 1.05
    x = lambda share: left + (width - left - right) * share
    y = lambda value: top + (height - top - bottom) * (math.log(high) - math.log(value)) / (math.log(high) - math.log(low))
    parts = [text(width / 2, 22, title, "middle", "font-weight='bold'")] + legend(list(series), left, 44)
    for value in [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 20]:
        if low <= value <= high:
            parts += [line(left, y(value), width - right, y(value), "#222222" if value == 1 else "#dddddd"), text(left - 6, y(value) + 4, "%g" % value, "end")]
    parts.append(text((left + width - right) / 2, height - 10, "problems of a kind, from the slowest to the fastest", "middle"))
    for i, ratios in enumerate(series.values()):
        for place, value in enumerate(sorted(ratios)):
            parts.append("<circle cx='%.1f' cy='%.1f' r='2.5' fill='%s'/>" % (x((place + 0.5) / len(ratios)), y(value), COLOURS[i % len(COLOURS)]))
    return document(width, height, parts)


def scatter(title, across, up, series):
    """`series`: name -> [(x, y)], all above 0. Both axes are logarithmic and equal, with a line where y is x."""
    left, right, top, bottom, side = 70, 20, 60, 50, 520
    width, height = left + side + right, top + side + bottom
    values = [value for points in series.values() for point in points for value in point]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    at = lambda value: side * (math.log10(value) - low) / (high - low)
    parts = [text(width / 2, 22, title, "middle", "font-weight='bold'")] + legend(list(series), left, 44)
    for power in range(low, high + 1):
        value = 10.0 ** power
        parts += [line(left + at(value), top, left + at(value), top + side), text(left + at(value), top + side + 16, "%g" % value, "middle"),
                  line(left, top + side - at(value), left + side, top + side - at(value)), text(left - 6, top + side - at(value) + 4, "%g" % value, "end")]
    parts.append(line(left, top + side, left + side, top, "#222222", 1.5))
    parts += [text(left + side / 2, height - 12, across, "middle"),
              text(18, top + side / 2, up, "middle", "transform='rotate(-90 18 %.1f)'" % (top + side / 2))]
    for i, points in enumerate(series.values()):
        for x, y in points:
            parts.append("<circle cx='%.1f' cy='%.1f' r='2' fill='%s' fill-opacity='0.5'/>" % (left + at(x), top + side - at(y), COLOURS[i % len(COLOURS)]))
    return document(width, height, parts)
