"""The output of dev/run_tests.py for tests that pass, fail, are skipped or missing, and when it fails."""
import os
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dev", "run_tests.py")
TESTS = {"good": "true", "bad": "false", "gone": "/nowhere/program",
         "empty": "sh -c \"echo 'T.cpp:1: Skipped'; echo 'no data'; yes '[  SKIPPED ] T.many' | head -100; echo '[  PASSED  ] 0 tests.'; yes '[  SKIPPED ] T.many' | head -100\"",
         "partly": "sh -c \"echo 'T.cpp:1: Skipped'; echo 'no data'; echo '[  PASSED  ] 1 test.'; echo '[  SKIPPED ] T.one'\"",
         "lacking": "sh -c \"echo 'skipped: a library is missing'; exit 77\"", "narrow": "sh -c \"echo 'skipped: no AMX'; exit 77\""}


def run(names, strict):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            for name in names:
                file.write(f"add_test({name} {TESTS[name]})\nset_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)\n")
        done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False,
                              env={**os.environ, "LATHE_TEST_STRICT": "1" if strict else "0"})
        return done.returncode, done.stdout.splitlines()[-3:], done.stderr


code, last, said = run(["good", "lacking", "narrow"], strict=False)
assert code == 0 and last[0].startswith("ran: 1 of 3 tests") and last[1] == "skipped: 2 lacking narrow", last
assert last[2] == "why: 1: a library is missing; 1: no AMX", last
code, last, said = run(["good", "lacking", "narrow"], strict=True)
assert code != 0 and said.endswith("not installed: a library is missing\n"), (code, said)
assert run(["good", "narrow"], strict=True)[0] == 0
code, last, said = run(["good", "empty", "partly"], strict=True)
assert code == 0 and last == [last[0], "skipped: 1 empty", "why: 1: no data"] and last[0].startswith("ran: 2 of 3 tests"), (last, said)
for name in ("bad", "gone"):
    code, last, said = run(["good", name], strict=False)
    assert code != 0 and last[0].endswith(f"1 failed {name}") and last[1:] == ["skipped: 0", "why: nothing was skipped"], last
