"""The part of a page that a program writes: between a comment that names the program and END."""
import sys

END = "<!-- to here -->"


def replaced(page, begin, part):
    """The text `page` with this part replaced, or None if it has no marks."""
    before, mark, rest = page.partition(begin)
    _, end, after = rest.partition(END)
    return before + mark + "\n" + part + "\n" + end + after if mark and end else None


def write(path, begin, part):
    with open(path) as file:
        text = replaced(file.read(), begin, "\n" + part)
    if text is None:
        sys.exit("%s: expected '%s' and '%s'" % (path, begin, END))
    with open(path, "w") as file:
        file.write(text)
