"""Caches save time and never decide: damaged, missing or closed ones, and verdicts that follow the content."""
import glob
import os
import shutil
import stat
import subprocess
import time

import numpy as np

from fixture import LATHE, Cli, main


class Cache(Cli):
    def cache(self, part):
        return os.path.join(os.environ["XDG_CACHE_HOME"], "lathe", part)

    def entry(self):
        """The package that is cached for the network."""
        shutil.rmtree(self.cache("packages"), ignore_errors=True)
        self.lathe("run", self.net, "--fill", "ones")
        [path] = glob.glob(os.path.join(self.cache("packages"), "*.lathe"))
        return path

    def with_environment(self, variables, *arguments, code=0):
        environment = {name: value for name, value in {**os.environ, **variables}.items() if value is not None}
        done = subprocess.run([LATHE, *arguments], capture_output=True, text=True, timeout=300, env=environment)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    @staticmethod
    def constants_of(package):
        """Offset and size of the constants section (package/Package.h)."""
        with open(package, "rb") as file:
            data = file.read()
        for section in range(int.from_bytes(data[32:36], "little")):
            at = 64 + 128 * section
            if int.from_bytes(data[at:at + 4], "little") == 2:
                return int.from_bytes(data[at + 8:at + 16], "little"), int.from_bytes(data[at + 16:at + 24], "little")
        raise AssertionError("no constants")

    def damaged(self, title):
        """A copy of the package with weights multiplied by 1.5: a file that nothing but its hash tells from a good one."""
        path = self.path(title)
        shutil.copy(self.package, path)
        offset, size = self.constants_of(path)
        with open(path, "r+b") as file:
            file.seek(offset)
            weights = np.frombuffer(file.read(size // 4 * 4), np.float32) * np.float32(1.5)
            file.seek(offset)
            file.write(weights.tobytes())
        return path

    def test_damaged_weights_are_refused(self):
        path = self.damaged("weights.lathe")
        for verb in (["run"], ["bench", "--no-store"], ["profile", "--no-store"]):
            self.error(verb[0], path, "--fill", "ones", *verb[1:], says="weights.lathe: altered: the hash of the constants")
        self.error("verify", self.net, "--package", path, says="weights.lathe: altered: the hash of the constants")

    def test_a_damaged_copy_neither_borrows_nor_spoils_the_verdict(self):
        path = self.damaged("copy.lathe")
        self.lathe("verify", self.net, "--package", self.package)
        skipped = ("--check-constants", "never")
        figures = self.figures("bench", path, *skipped, "--max-seconds", "0.05", "--no-store")
        self.assertFalse(figures["verified"], figures["verification"])
        self.lathe("verify", self.net, "--package", path, *skipped, code=1)
        figures = self.figures("bench", self.package, "--max-seconds", "0.05", "--no-store")
        self.assertTrue(figures["verified"], figures["verification"])

    def test_a_package_changed_in_place_is_checked_again(self):
        path = self.path("changing.lathe")
        shutil.copy(self.package, path)
        time.sleep(2.2)  # younger files are not remembered
        checked = lambda: len(os.listdir(self.cache("checked"))) if os.path.isdir(self.cache("checked")) else 0
        before = checked()
        self.lathe("run", path, "--fill", "ones")
        self.assertEqual(checked(), before + 1)
        self.lathe("run", path, "--fill", "ones")
        self.assertEqual(checked(), before + 1)
        status = os.stat(path)
        offset, _ = self.constants_of(path)
        with open(path, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)
            file.seek(offset)
            file.write(bytes([byte[0] ^ 1]))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        self.error("run", path, "--fill", "ones", says="altered")
        self.error("run", path, "--fill", "ones", "--check-constants", "always", says="altered")
        self.lathe("run", path, "--fill", "ones", "--check-constants", "never")

    def test_damaged_entries_are_made_again(self):
        good = self.entry()
        with open(good, "rb") as file:
            content = file.read()
        offset, size = self.constants_of(good)
        middle = offset + size // 2
        expected = self.outputs(self.net, "--fill", "ones")["prob"]
        for title, bytes_ in [("truncated", content[:len(content) // 2]), ("header only", content[:64]), ("empty", b""),
                              ("weights", content[:middle] + bytes([content[middle] ^ 64]) + content[middle + 1:]),
                              ("code", content[:-1] + bytes([content[-1] ^ 1])), ("longer", content + b"x")]:
            with self.subTest(title):
                with open(good, "wb") as file:
                    file.write(bytes_)
                np.testing.assert_array_equal(self.outputs(self.net, "--fill", "ones")["prob"], expected)
                with open(good, "rb") as file:
                    self.assertEqual(len(file.read()), len(content))

    def test_packages_are_pruned_by_use(self):
        path = self.entry()
        for hours, marked in [(1, False), (30, True)]:
            then = time.time() - hours * 3600
            os.utime(path, (then, then))
            self.lathe("run", self.net, "--fill", "ones")
            self.assertEqual(os.stat(path).st_mtime > then + 1, marked, hours)

    def test_verdicts_are_pruned(self):
        os.makedirs(self.cache("verdicts"), exist_ok=True)
        old = os.path.join(self.cache("verdicts"), "old.json")
        with open(old, "wb") as file:
            file.truncate(64 << 20)
        os.utime(old, (0, 0))
        self.lathe("verify", self.net, "--seeds", "1")
        self.assertFalse(os.path.exists(old))
        self.assertTrue(os.listdir(self.cache("verdicts")))
        self.assertTrue(self.figures("bench", self.net, "--max-seconds", "0.05", "--no-store")["verified"])

    def test_without_a_cache(self):
        closed = {"XDG_CACHE_HOME": self.net}  # a file: no folder can be made in it
        for command in [("run", self.net, "--fill", "ones"), ("verify", self.net, "--seeds", "1"),
                        ("bench", self.net, "--max-seconds", "0.05", "--no-store"),
                        ("profile", self.net, "--repetitions", "2", "--no-store"),
                        ("compare", self.net, "--with", "reference", "--check-only", "--no-store"),
                        ("compile", self.net, "-o", self.path("uncached.lathe"))]:
            with self.subTest(" ".join(command)):
                done = self.with_environment(closed, *command)
                self.assertEqual(done.stderr.count("works without a cache"), 1, done.stderr)
        done = self.with_environment(closed, "profile", self.net, "--repetitions", "2", "--no-store")
        self.assertRegex(done.stdout, "outputs: verified ")

    def test_without_a_home(self):
        own = f"/tmp/lathe-{os.geteuid()}"
        if os.path.lexists(own):
            self.skipTest(f"{own} is there")
        nowhere = {"XDG_CACHE_HOME": None, "HOME": None}
        try:
            self.with_environment(nowhere, "run", self.net, "--fill", "ones")
            status = os.lstat(own)
            self.assertEqual((status.st_uid, stat.S_IMODE(status.st_mode)), (os.geteuid(), 0o700))
            os.chmod(own, 0o777)
            done = self.with_environment(nowhere, "run", self.net, "--fill", "ones")
            self.assertIn("other users may use it", done.stderr)
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def test_errors_name_the_verb_and_the_model_that_were_typed(self):
        broken = self.path("broken.onnx")
        with open(broken, "wb") as file:
            file.write(b"\x08\x08\x12\xff")
        for verb in (["run", "--fill", "ones"], ["bench", "--no-store"], ["profile", "--no-store"],
                     ["compare", "--with", "reference", "--no-store"], ["verify"]):
            self.error(verb[0], broken, *verb[1:], says=f"^lathe {verb[0]}: .*broken.onnx: ")

    def test_a_package_of_two_files_names_the_one_that_was_typed(self):
        text = """func.func @main(%a: tensor<?xf32> {nn.name = "a", nn.dims = ["N"]}, %b: tensor<?xf32> {nn.name = "b", nn.dims = ["K"]}, %c: tensor<?xf32> {nn.name = "c", nn.dims = ["N"]})
            -> (tensor<?xf32> {nn.name = "y"}) {
          %0 = nn.concat %a, %c {axis = 0 : i64} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> loc("joined"("m.onnx":3:0))
          %1 = nn.add %0, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> loc("sum"("FOLDER/m.onnx":4:0))
          return %1 : tensor<?xf32> }"""
        for name, length in ("a", 3), ("b", 5), ("c", 3):
            np.save(self.path(f"{name}.npy"), np.ones(length, np.float32))
        for folder in "first", "second":
            os.makedirs(self.path(folder), exist_ok=True)
            with open(self.path(f"{folder}/m.mlir"), "w") as file:
                file.write(text)
            said = self.error("run", file.name, *(f"-i{name}={self.path(name + '.npy')}" for name in "abc"), says="the inputs' extents do not fit")
            self.assertIn(f"{folder}/m.mlir: node 4 'sum': ", said)
            self.assertNotIn("FOLDER", said)

    def test_several_processes_share_an_empty_cache(self):
        shutil.rmtree(self.cache("packages"), ignore_errors=True)
        command = [LATHE, "compare", self.net, "--with", "reference", "--check-only", "--no-store"]
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        for process in running:
            _, said = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, said)


if __name__ == "__main__":
    main()
