"""Names in models and files reach no terminal as commands, and lead to no file outside of the folder that was named."""
import os
import re
import shutil

import numpy as np

from fixture import Cli, field, main, onnx_node

EVIL = "\n\x1b[2J\x1b]0;title\x07\r\u009b31m"


def model(nodes, names=("x", "y")):
    shape = field(2, field(1, field(1, 1)) + field(1, field(1, 4)))
    tensor = lambda name: field(1, name) + field(2, field(1, field(1, 1) + shape))
    graph = b"".join(field(1, node) for node in nodes) + field(2, "g" + EVIL) + field(11, tensor(names[0]))
    graph += b"".join(field(12, tensor(name)) for name in names[1:])
    return field(1, 8) + field(2, "maker" + EVIL) + field(8, field(2, 13)) + field(7, graph)


class Terminal(Cli):
    knows_machine = True

    def written(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def shown(self, *arguments, code):
        done = self.lathe(*arguments, code=code)
        for text in (done.stdout, done.stderr):
            found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
            self.assertIsNone(found, f"lathe {arguments[0]}: {text!r}")
        return done.stdout + done.stderr

    def test_names_of_models(self):
        names = ["x" + EVIL, "y" + EVIL]
        path = self.written("names.onnx", model([onnx_node("Relu", [names[0]], [names[1]], "relu" + EVIL)], names))
        for verb in ["inspect", "check", "verify", "profile"]:
            self.assertIn("\\x1b[2J", self.shown(verb, path, code=0) + "\\x1b[2J" * (verb in ("check", "profile")))
        self.shown("compile", path, "-o", self.path("names.lathe"), code=0)
        self.assertIn("\\x1b[2J", self.shown("run", path, "--fill", "ones", code=0))
        self.assertIn("\\x1b[2J", self.shown("run", path, code=2))
        self.shown("compile", path, "--emit", "graph", code=0)
        self.shown("inspect", path, "--json", "-", code=0)
        self.shown("run", path, "--fill", "ones", "--json", "-", code=0)
        wrong = self.written("wrong.onnx", model([onnx_node("Nonsense" + EVIL, ["x"], ["y"], "node" + EVIL)]))
        for verb, code in [("check", 1), ("inspect", 2)]:
            self.assertIn("Nonsense", self.shown(verb, wrong, code=code))

    def test_names_of_files_and_flags(self):
        for arguments in [("inspect", self.path(f"absent{EVIL}.onnx")), ("frob" + EVIL,), ("inspect", self.net, "--x" + EVIL.strip()),
                          ("run", self.net, "-i", EVIL + ".npy"), ("store", "list", "--store", self.path(EVIL + "/x.db"))]:
            self.assertIn("\\x1b[2J", self.shown(*arguments, code=2))

    def test_arrays_stay_in_their_folder(self):
        names = ["x", "../../evil", "a/b", "a_b", ".."]
        path = self.written("paths.onnx", model([onnx_node("Relu", ["x"], [name], f"n{i}") for i, name in enumerate(names[1:])], names))
        os.makedirs(self.path("deep/er"))
        self.lathe("run", path, "--fill", "ones", "-o", self.path("deep/er/out/"))
        self.assertEqual(sorted(os.listdir(self.path("deep/er/out"))), [".._.._evil.npy", "_...npy", "a_b.npy", "a_b_2.npy"])
        self.assertEqual(os.listdir(self.path("deep")), ["er"])
        self.lathe("run", path, "--fill", "ones", "-o", self.path("deep/er/out.npz"))
        self.assertEqual(sorted(np.load(self.path("deep/er/out.npz")).files), ["_..", "_../_../evil", "a/b", "a_b"])
        # What was written under another name is found again.
        back = self.written("back.onnx", model([onnx_node("Relu", ["../../evil"], ["y"], "n")], ["../../evil", "y"]))
        np.savez(self.path("back.npz"), **{"_../_../evil": np.ones((1, 4), np.float32)})
        self.lathe("run", back, "-i", self.path("back.npz"))
        self.lathe("run", back, "-i", self.path("deep/er/out"))

    def test_line_ends_in_names_of_files(self):
        for name, source in [("new\nline.lathe", self.package), ("new\nline.mlir", self.net)]:
            shutil.copy(source, self.path(name))
        for verb in (["bench", self.path("new\nline.lathe"), "--repetitions", "2", "--no-store"], ["check", self.path("new\nline.mlir")]):
            self.assertIn("new\\nline.", self.lathe(*verb).stdout.splitlines()[0])


if __name__ == "__main__":
    main()
