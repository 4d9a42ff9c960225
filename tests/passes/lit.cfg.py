import os

import lit.formats

config.name = "passes"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.bin_dir, "..", "tests", "passes", "lit")
config.environment["PATH"] = os.pathsep.join([config.bin_dir, config.llvm_bin_dir, os.environ["PATH"]])
