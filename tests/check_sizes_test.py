"""The size check finds long files, long functions and full folders, parses C++ in all its forms, and its list of known exceptions
can only shrink."""
import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dev", "check_sizes.py")
sys.path.insert(0, os.path.dirname(CHECK))
import check_sizes


def check(files, known="", update=False):
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in {**files, "dev/known_sizes.txt": known}.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
        done = subprocess.run([sys.executable, CHECK, root] + ["--update"] * update, capture_output=True, text=True)
        with open(os.path.join(root, "dev/known_sizes.txt")) as file:
            return done.returncode, done.stdout + done.stderr, file.read()


def body(lines):
    return "  f();\n" * (lines - 2)


def function(lines, head="void g()"):
    return f"{head} {{\n{body(lines)}}}\n"


SOURCE = '''#include "a.h"
#define OPEN {
namespace lathe {
namespace {
// a comment with a { brace
struct Point { int x = 0; void method() const { call("}{"); } };
enum class Kind { one, two };
constexpr int table[] = {1, 2,
                         3};
const std::map<std::string, int> names = {{"a", 1}, {"b", f(2)}};
Point::Point(int a, std::vector<int> b)
    : x{a}, y(b) {
  both();
}
template <class T> auto Point::find(T &&value = {}) -> std::optional<T> {
  return std::any_of(b, e, [&](auto &x) { return x; }) ? R"(} raw { )" : '}';
}
bool operator==(const Point &a, const Point &b) { return true; }
int Point::operator()(int x) const noexcept {
  if (x) {
    return 1'000;
  }
  return 2;
}
extern "C" {
void c_name(void) {
}
}
class Derived final : public Base<int (*)(int)> {
  Derived() = default;
  static const char *text() {
    return "";
  }
};
} // namespace
} // namespace lathe
'''
found = list(check_sizes.functions(SOURCE))
assert found == [("method", 1), ("Point::Point", 4), ("Point::find", 3), ("operator==", 1), ("Point::operator()", 6), ("c_name", 2),
                 ("text", 3)], found

code, said, _ = check({"a/A.cpp": function(60)})
assert code == 0 and "1 files, 1 functions, 0 over" in said, said
code, said, _ = check({"a/A.cpp": "int x;\n" + function(61, "static int A::g(int x)")})
assert code == 1 and "a/A.cpp:A::g: 61, expected at most 60 lines in a function" in said, said
code, said, _ = check({"a/ATest.cpp": function(600), "a/testing/B.cpp": function(600), "a/C.cpp": function(3)})
assert code == 0, said  # tests may be long
code, said, _ = check({"a/A.cpp": function(3) * 167})
assert code == 1 and "a/A.cpp: 501, expected at most 500 lines in a file" in said, said
code, said, _ = check({f"a/A{i}.cpp": function(3) for i in range(41)})
assert code == 1 and "a/: 41, expected at most 40 sources in a folder" in said, said
code, said, _ = check({"a/a.py": "def g():\n" + "    f()\n" * 60})
assert code == 1 and "a/a.py:g: 61" in said, said

known = "  70 a/A.cpp:g\n"
code, said, _ = check({"a/A.cpp": function(70)}, known)
assert code == 0, said
code, said, _ = check({"a/A.cpp": function(71)}, known)
assert code == 1 and "a/A.cpp:g: 71, expected at most 60 lines in a function (known: 70)" in said, said
code, said, _ = check({"a/A.cpp": function(50)}, known)
assert code == 1 and "a/A.cpp:g is within the limit or gone" in said, said
code, said, left = check({"a/A.cpp": function(65), "a/B.cpp": function(66)}, known + "  80 a/B.cpp:other\n", update=True)
assert "  65 a/A.cpp:g\n" in left and "B.cpp" not in left, left
assert code == 1 and "a/B.cpp:g: 66" in said, said  # an update lets nothing new in
code, said, _ = check({"a/notes.txt": ""})
assert code == 1 and "no functions found" in said, said
