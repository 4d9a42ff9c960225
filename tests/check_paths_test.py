"""The check of file names finds names and links of missing files, and accepts names relative to a floor."""
import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dev", "check_paths.py")
THERE = "// src/base/support/Old.h, support/Old.h, support/*.h, support/{Old,New}.h and docs/NAME.md are here.\n"


def check(files):
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in {"src/base/support/New.h": THERE * 30, "docs/page.md": "# A page, and `more`\n[1](page.md#a-page-and-more)\n", **files}.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
        result = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)
        return result.returncode, result.stdout


code, said = check({"src/base/support/Old.h": ""})
assert code == 0, said
code, said = check({"src/base/support/Older.h": ""})
assert code == 1 and "src/base/support/New.h:1: there is no support/Old.h" in said, said
assert "support/{" not in said and said.count("support/New.h\n") == 0, said
for link in ["none.md", "page.md#nothing", "#nothing", "../support/Old.h"]:
    code, said = check({"src/base/support/Old.h": "", "docs/other.md": f"# Title\n[1]({link}) [2](#title)\n"})
    assert code == 1 and f"docs/other.md:2: there is no {link}" in said and said.count("there is no") == 1, said
