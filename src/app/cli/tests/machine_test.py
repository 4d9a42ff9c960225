"""`lathe machine` and `--machine FILE`: what the compiler knows of a machine, and code for another one."""
import json
import os
import re

from fixture import Cli, main

# 512 -> 512 channels, 3x3 at 7x7: 9.4 MB of weights, which F(2x2) would make 16.8.
DEEP = """
func.func @main(%x: tensor<1x512x7x7xf32> {nn.name = "x"}) -> (tensor<1x512x7x7xf32> {nn.name = "y"}) {
  %w = nn.constant {value = dense<0.01> : tensor<512x512x3x3xf32>} : tensor<512x512x3x3xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x512x7x7xf32>, tensor<512x512x3x3xf32>) -> tensor<1x512x7x7xf32> loc("deep")
  return %0 : tensor<1x512x7x7xf32>
}
"""
AVX512 = ["sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"]
# A virtual machine on Sapphire Rapids whose host hides AMX.
SAPPHIRE = {"cpu": "sapphirerapids", "architecture": "x86_64", "features": AVX512 + ["avx512vnni"],
            "caches": [{"level": 1, "bytes": 48 << 10, "shared_by": 1}, {"level": 2, "bytes": 2 << 20, "shared_by": 1},
                       {"level": 3, "bytes": 105 << 20, "shared_by": 4}]}
ZEN5 = {"cpu": "znver5", "architecture": "x86_64", "features": AVX512}


class Machine(Cli):
    def written(self, name, content):
        path = self.path(name)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def schedule(self, machine, *flags):
        model = self.written("deep.mlir", DEEP)
        file = self.written("machine.json", machine)
        text = self.lathe("compile", model, "--emit", "schedule", "--machine", file, *flags).stdout
        return [line for line in text.splitlines() if re.match(r"deep(_\d+)?: (direct|winograd)/", line)][0]

    def test_the_prior_plans_for_the_machine_and_not_for_one_feature(self):
        self.assertIn(": direct/1", self.schedule(SAPPHIRE))
        self.assertIn(": winograd/2", self.schedule(ZEN5))
        # Of the file only the facts, the code for another CPU with the same registers.
        self.assertIn(": direct/1", self.schedule(SAPPHIRE, "--target", "znver5"))
        # What was measured beside counts, too.
        self.assertIn(": winograd/2", self.schedule({**SAPPHIRE, "memory_read_bytes_per_cycle": 20}))

    def test_the_prior_knows_that_cores_share_memory(self):
        fast = {**SAPPHIRE, "memory_read_bytes_per_cycle": 20}
        shared = {**fast, "shared_memory_read_bytes_per_cycle": 20}
        self.assertIn(": winograd/2", self.schedule(fast, "--threads", "4"))
        self.assertIn(": winograd/2", self.schedule(shared, "--threads", "1"))
        self.assertIn(": direct/1", self.schedule(shared, "--threads", "4"))  # which have 5 bytes a cycle each

    def test_packages_say_which_machine_they_are_for(self):
        out, file = self.path("other.lathe"), self.written("machine.json", SAPPHIRE)
        self.lathe("compile", self.net, "-o", out, "--machine", file)
        report = self.figures("inspect", out)
        self.assertRegex(report["compile_options"], r", machine sapphirerapids L1=48K/1 L2=2M/1 L3=105M/4$")  # no rates
        facts = report["machine"]
        self.assertEqual([cache["bytes"] for cache in facts["caches"]], [48 << 10, 2 << 20, 105 << 20])
        self.assertEqual(facts["caches"][1]["size_from"], "file")
        self.assertEqual(facts["memory_read_bytes_per_cycle"], 5)
        self.assertIn("machine sapphirerapids", self.lathe("inspect", out).stdout)
        self.lathe("compile", self.net, "-o", out)
        own = self.figures("inspect", out)
        self.assertNotIn("sapphirerapids L1=48K/1 L2=2M/1 L3=105M/4", own["compile_options"])

    def test_what_machine_writes_compiles_for_it(self):
        file = self.path("here.json")
        text = self.lathe("machine", "--threads", "1", "--json", file).stdout
        self.assertRegex(text, r"memory read +[0-9.]+ bytes a cycle of one core +(measured|fitted)")
        with open(file) as opened:
            facts = json.load(opened)["facts"]
        self.assertGreater(facts["caches"][1]["bytes"], facts["caches"][0]["bytes"])
        options = []
        for flags in [[], ["--machine", file]]:
            out = self.path("here.lathe")
            self.lathe("compile", self.net, "-o", out, *flags)
            options.append(self.figures("inspect", out)["compile_options"])
        self.assertEqual(options[0], options[1])

    def test_runs_take_the_file_and_keep_packages_apart(self):
        out = self.path("here.lathe")
        self.lathe("compile", self.net, "-o", out)
        facts = self.figures("inspect", out)["machine"]
        for cache in facts["caches"][1:]:
            cache["bytes"] *= 2
        packages = os.path.join(os.environ["XDG_CACHE_HOME"], "lathe", "packages")

        def made(machine, *verb):
            before = set(os.listdir(packages)) if os.path.isdir(packages) else set()
            self.lathe(verb[0], self.net, "--machine", self.written("own.json", machine), *verb[1:])
            return len(set(os.listdir(packages)) - before)

        self.assertEqual(made(facts, "run", "--fill", "ones"), 1)
        self.assertEqual(made(facts, "bench", "--repetitions", "2"), 0)
        self.assertEqual(made(facts, "verify", "--seeds", "1"), 0)
        facts["caches"][1]["bytes"] += 4096
        self.assertEqual(made(facts, "profile", "--no-check", "--repetitions", "1"), 1)

    def test_files_that_are_wrong(self):
        out = self.path("wrong.lathe")
        for content, says in [("{", r"wrong\.json: is no JSON"),
                              ({**SAPPHIRE, "cahces": []}, r"wrong\.json: unknown key 'cahces'; expected cpu"),
                              ({**SAPPHIRE, "cpu": "i9000"}, r"LLVM knows no CPU 'i9000' of x86_64"),
                              ({**SAPPHIRE, "caches": [{"bytes": 12}]}, r"wrong\.json: caches\[0\]: 'bytes' is 12"),
                              ({**SAPPHIRE, "threads_per_core": 0}, r"'threads_per_core' is 0")]:
            self.error("compile", self.net, "-o", out, "--machine", self.written("wrong.json", content), says=says)
        self.error("compile", self.net, "-o", out, "--target", "machine", says="--machine FILE, which was not given")
        self.error("compile", self.net, "-o", out, "--machine", self.written("spr.json", SAPPHIRE), "--target",
                   "cortex-a76", says="is of aarch64, --machine describes one of x86_64")
        self.error("compile", self.net, "-o", out, "--machine", self.path("missing.json"), says=r"missing\.json")


if __name__ == "__main__":
    main()
