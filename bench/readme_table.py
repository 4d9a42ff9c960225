"""README's table of speeds: joins the pages of `make bench` that were measured at one commit.

usage: readme_table.py [--check]     writes the table between the marks of README.md, or fails where it is another one

docs/performance.md is the newest page; pages of other machines lie in docs/performance/. A page says on its second line, in
JSON, what it measured. The pages of the commit of docs/performance.md make the table; the others are linked below it.
"""
import json
import pathlib
import re
import sys

import marks

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- bench/readme_table.py writes from here -->"


def summary_of(page):
    found = re.search(r"^<!-- page: (\{.*\}) -->$", page.read_text(), re.M)
    return json.loads(found.group(1)) if found else None


def table(root):
    newest = root / "docs" / "performance.md"
    pages = [newest, *sorted((root / "docs" / "performance").glob("*.md"))]
    summaries = [(page, summary_of(page)) for page in pages if page.exists()]
    commits = next((summary["commits"] for page, summary in summaries if page == newest and summary), [])
    joined = [(page, summary) for page, summary in summaries if summary and len(commits) == 1 and summary["commits"] == commits]
    if not joined:  # measured at several commits, which nothing can be joined with
        joined = [(page, summary) for page, summary in summaries if page == newest and summary]
    link = lambda page: "[%s](%s)" % ((page.relative_to(root).as_posix(),) * 2)
    mean = lambda summary, threads: "%.2f" % summary["means"][threads] if threads in summary["means"] else ""
    lines = ["Commit %s:" % " and ".join(commits or ["unknown"]), "", "| machine | networks | geometric mean, 1 thread | 2 threads | slower | page |", "|---|---|---|---|---|---|"]
    for page, summary in joined:
        lines.append("| %s | %d | %s | %s | %s | %s, %s |" % (summary["machine"], summary["networks"], mean(summary, "1"), mean(summary, "2"),
                                                             ", ".join(summary["slower"]) or "none", link(page), summary["date"]))
    others = [(page, summary) for page, summary in summaries if page not in [page for page, _ in joined]]
    if others:
        said = lambda summary: " (%s, commit %s)" % (summary["machine"], " and ".join(summary["commits"])) if summary else ""
        lines += ["", "Pages of other commits: %s." % "; ".join(link(page) + said(summary) for page, summary in others)]
    return "\n".join(lines)


def replaced(root):
    """README with the current table, or None if it has no marks."""
    readme = root / "README.md"
    return marks.replaced(readme.read_text(), BEGIN, table(root)) if readme.exists() else None


def write(root):
    if (text := replaced(root)) is not None:
        (root / "README.md").write_text(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if replaced(ROOT) != (ROOT / "README.md").read_text():
            sys.exit("README.md: its table is not that of the pages: bench/readme_table.py writes it")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        write(ROOT)
