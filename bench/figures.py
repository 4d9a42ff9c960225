"""Figures of the documentation as SVG, drawn by the program that draws the plots of `lathe report` (report/page/), under Node.js.

Every function returns the text of the file, or None where the program or Node.js is missing, which it says.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile


def program():
    """$LATHE_PLOTS, or the program of the build; None if the build has none (without npm)."""
    path = pathlib.Path(os.environ.get("LATHE_PLOTS") or pathlib.Path(__file__).parent.parent / "build" / "release" / "report" / "page" / "plots.mjs")
    return path if shutil.which("node") and path.exists() and path.stat().st_size else None


def draw(figure):
    plots = program()
    if not plots:
        print("the figure \"%s\" is not drawn: Node.js or the program of report/page/ is missing" % figure["title"])
        return None
    with tempfile.TemporaryDirectory() as folder:
        document, picture = pathlib.Path(folder) / "figure.json", pathlib.Path(folder) / "figure.svg"
        document.write_text(json.dumps(figure))
        subprocess.run(["node", str(plots), str(document), str(picture)], check=True, stdout=subprocess.DEVNULL)
        return picture.read_text()


def bars(title, series, rows):
    """`series`: names; `rows`: (label, [(value, low, high) or None for each series]). Draws horizontal bars with a line at 1."""
    return draw({"kind": "bars", "title": title, "series": series, "rows": [{"label": label, "values": values} for label, values in rows]})


def sorted_points(title, series):
    """`series`: name -> ratios. Draws each in ascending order over the same width, on a logarithmic axis, with a line at 1."""
    return draw({"kind": "sorted", "title": title, "across": "problems of a kind, from the slowest to the fastest",
                 "series": [{"name": name, "values": values} for name, values in series.items()]})


def scatter(title, across, up, series):
    """`series`: name -> [(x, y)], all above 0. Both axes are logarithmic and equal, with a line where y is x."""
    return draw({"kind": "scatter", "title": title, "across": across, "up": up, "series": [{"name": name, "points": points} for name, points in series.items()]})
