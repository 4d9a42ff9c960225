"""The wall check finds a broken wall, describes it, and accepts a clean tree."""
import os
import subprocess
import sys
import tempfile

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dev", "check_walls.py")


def check(files):
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
        result = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)
        return result.returncode, result.stdout


code, said = check({"src/runtime/runtime/plan/Model.cpp": '#include "package/Package.h"\n'})
assert code == 0, said
code, said = check({"src/runtime/runtime/plan/Model.cpp": '#include "support/Error.h"\n#include "mlir/IR/Value.h"\n'})
assert code == 1 and "src/runtime/runtime/plan/Model.cpp:2: runtime includes mlir/IR/Value.h" in said, said
code, said = check({"src/model/ops/conv/Reference.cpp": '#include "ir/Nn.h"\n'})
assert code == 1 and "references includes ir/Nn.h" in said, said
# No floor sees a higher one, and every room has a floor.
code, said = check({"src/runtime/runtime/plan/Model.cpp": '#include "ops/Registry.h"\n'})
assert code == 1 and "src/runtime/runtime/plan/Model.cpp:1: the floor runtime includes ops/Registry.h of a higher one" in said, said
code, said = check({"src/model/attic/Old.cpp": '#include "ops/Registry.h"\n'})
assert code == 1 and "attic is no room of a floor called model" in said, said

# What is common to all formats knows none of them; only the one door does.
for include, target in [("import/onnx/Onnx.h", "import/onnx"), ("import/onnx/onnx.pb.h", "protobuf"), ("google/protobuf/message.h", "protobuf")]:
    code, said = check({"src/model/import/Graph.cpp": f'#include "{include}"\n'})
    assert code == 1 and f"src/model/import/Graph.cpp:1: import includes {include} of {target}" in said, said
code, said = check({"src/model/import/dispatch/Import.cpp": '#include "import/onnx/Onnx.h"\n'})
assert code == 0, said
code, said = check({"src/model/import/onnx/Reader.cpp": '#include "import/onnx/onnx.pb.h"\n#include "import/Records.h"\n'})
assert code == 0, said
# What is kept between commands and what judges packages stay below the command line.
for path, include in [("src/app/cache/PackageCache.cpp", "compile/Compile.h"), ("src/laboratory/verify/Verification.cpp", "jobs/Inputs.h")]:
    code, said = check({path: f'#include "{include}"\n'})
    assert code == 1 and f"includes {include}" in said, said
