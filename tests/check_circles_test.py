"""The check of circles finds circles of headers, of Python modules and of folders, and accepts a tree without circles."""
import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dev", "check_circles.py")


def check(files):
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        result = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr


HEADERS = {"src/base/support/A.h": '#include "ops/B.h"\n', "src/model/ops/B.h": '#include "ops/C.h"\n', "src/model/ops/C.h": "#include <string>\n"}
code, said = check(HEADERS)
assert code == 0 and "3 files, 2 includes and imports, 0 circles" in said, said
code, said = check(HEADERS | {"src/model/ops/C.h": '#include "support/A.h"\n'})
assert code == 1 and "files need each other: src/base/support/A.h, src/model/ops/B.h, src/model/ops/C.h" in said, said

MODULES = {"python/lathe/__init__.py": "from lathe import one\n", "python/lathe/one.py": "from lathe.two import g\n",
           "python/lathe/two.py": "import json\ndef g():\n    from lathe import one\n"}
code, said = check(MODULES)
assert code == 0 and "3 files, 2 includes" in said, said
code, said = check(MODULES | {"python/lathe/two.py": "from lathe import one\n"})
assert code == 1 and "files need each other: python/lathe/one.py, python/lathe/two.py" in said, said

# Between folders, over files that do not need themselves.
FOLDERS = {"src/model/ir/A.h": '#include "ops/B.h"\n', "src/model/ops/B.h": "#include <string>\n", "src/model/ops/C.cpp": '#include "ir/A.h"\n'}
FOUND = "folders need each other: src/model/ir, src/model/ops"
code, said = check(FOLDERS)
assert code == 1 and FOUND in said, said
tests = {path.replace("C.cpp", "CTest.cpp"): text for path, text in FOLDERS.items()}
code, said = check(tests)
assert code == 0, said
