"""`lathe evaluate`: figures by hand on pictures that a small network tells apart, data sets and errors."""
import os
import re
import struct
import sys
import xml.dom.minidom

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "model", "import", "keras", "testing"))
from keras_files import Layer, Model, Ref, input_layer, write

from fixture import Cli, field, main, onnx_node

# The scores are the means of the red, the green and the blue pixels.
NETWORK = """
func.func @main(%data: tensor<1x3x4x4xf32> {nn.name = "data"}) -> (tensor<1x3xf32> {nn.name = "scores"}) {
  %0 = nn.reduce_mean %data {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x3x4x4xf32>) -> tensor<1x3x1x1xf32> loc("mean")
  %1 = nn.reshape %0 {shape = array<i64: 1, 3>} : (tensor<1x3x1x1xf32>) -> tensor<1x3xf32> loc("scores")
  return %1 : tensor<1x3xf32>
}
"""


# The same with 100 for blue, whatever the picture: more than pixels from 0 to 1 ever are.
BLUE = """
func.func @main(%data: tensor<1x3x4x4xTYPE> {nn.name = "data"QUANTISED}) -> (tensor<1x3xf32> {nn.name = "scores"}) {
  %zero = nn.constant {value = dense<ZERO> : tensor<f32>} : tensor<f32>
  %blue = nn.constant {value = dense<[[0.0, 0.0, 100.0]]> : tensor<1x3xf32>} : tensor<1x3xf32>
  %0 = nn.cast %data {to = f32} : (tensor<1x3x4x4xTYPE>) -> tensor<1x3x4x4xf32>
  %1 = nn.sub %0, %zero : (tensor<1x3x4x4xf32>, tensor<f32>) -> tensor<1x3x4x4xf32>
  %2 = nn.reduce_mean %1 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x3x4x4xf32>) -> tensor<1x3x1x1xf32>
  %3 = nn.reshape %2 {shape = array<i64: 1, 3>} : (tensor<1x3x1x1xf32>) -> tensor<1x3xf32>
  %4 = nn.max %3, %blue : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  return %4 : tensor<1x3xf32>
}
"""


def blue(kind, scale="", zero=0):
    quantised = f', nn.quantization = "{scale} * (q - {zero})"' if scale else ""
    text = BLUE.replace("TYPE", kind).replace("QUANTISED", quantised).replace("ZERO", f"{zero}.0")
    return text.replace("  %0 = nn.cast %data {to = f32} : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>\n", "").replace("nn.sub %0", "nn.sub %data") if kind == "f32" else text


def keras_colours(path):
    """Scores as above of a picture with the channels last; the class Scale, of the user, doubles them."""
    layers = [input_layer("image", [4, 4, 3]), Layer("GlobalAveragePooling2D", "mean", {}, calls=[([Ref("image")], {})]),
              Layer("Scale", "scale", {}, [np.full(3, 2.0)], calls=[([Ref("mean")], {})])]
    write(path, Model("colours", layers, ["image"], [Ref("scale")]))


SCALE = """
func.func @main(%x: tensor<1x3xf32>, %w: tensor<3xf32>) -> tensor<1x3xf32> {
  %y = nn.mul %x, %w : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}
"""


def bmp(path, colour, width=8, height=6):
    row = bytes(reversed(colour)) * width
    row += b"\0" * (-len(row) % 4)
    pixels = row * height
    with open(path, "wb") as file:
        file.write(b"BM" + struct.pack("<IHHI", 54 + len(pixels), 0, 0, 54))
        file.write(struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(pixels), 2835, 2835, 0, 0) + pixels)


class Evaluate(Cli):
    def setUp(self):
        self.model = self.path("colours.mlir")
        with open(self.model, "w") as file:
            file.write(NETWORK)
        with open(self.path("labels.txt"), "w") as file:
            file.write("red rose, Rosa rubra\ngreen leaf\nblue sky\n")
        self.data = self.path("pictures")
        # Two reds, of which one looks green; one green; one blue.
        for folder, name, colour in [("red", "a", (255, 0, 0)), ("red", "b", (10, 200, 0)), ("green", "c", (0, 255, 0)),
                                     ("2", "d", (0, 10, 90))]:
            os.makedirs(os.path.join(self.data, folder), exist_ok=True)
            bmp(os.path.join(self.data, folder, name + ".bmp"), colour)

    def test_rows_from_the_top(self):
        # A negative height is legal: the first row of the file is the top one.
        folder = self.path("topdown")
        os.makedirs(folder, exist_ok=True)
        bmp(os.path.join(folder, "a.bmp"), (0, 0, 255))
        with open(os.path.join(folder, "a.bmp"), "r+b") as file:
            file.seek(22)
            file.write(struct.pack("<i", -6))
        decisions = self.figures("evaluate", self.model, "--data", folder)["decisions"]
        self.assertEqual([one["decision"] for one in decisions], [2])

    def test_figures_are_kept(self):
        at = ["--store", self.path("kept.db")]
        self.lathe("evaluate", self.model, "--data", self.data, "--labels", self.path("labels.txt"), "--against", self.model, *at)
        kept = self.figures("store", "show", *at)
        self.assertEqual((kept["kind"], len(kept["points"])), ("evaluate", 1))
        point = kept["points"][0]
        matrix = {name: count for name, count in point["figures"].items() if name.startswith("confusion ")}
        self.assertEqual({name: point["figures"][name] for name in point["figures"] if name not in matrix}, {"changed": 0, "pictures": 4, "top1": 0.75, "top5": 1})
        self.assertEqual((sum(matrix.values()), matrix["confusion 0 1"]), (4, 1))
        self.assertEqual(point["time"]["count"], 4)
        with open(self.path("kept.db"), "rb") as file:  # names up to their commas, for reports
            self.assertIn(b'"classes":{"0":"red rose","1":"green leaf","2":"blue sky"}', file.read())
        self.assertRegex(point["problem"], r"^colours\.mlir@[0-9a-f]{16} on pictures$")
        self.lathe("evaluate", self.model, "--data", self.data, "--labels", self.path("labels.txt"), "--no-store")
        self.assertEqual(len(self.figures("store", "list", *at)["experiments"]), 1)

    def test_figures_by_hand(self):
        figures = self.figures("evaluate", self.model, "--data", self.data, "--labels", self.path("labels.txt"),
                               "--confusion", self.path("confusion.svg"))
        self.assertEqual((figures["pictures"], figures["labelled"], figures["top1"], figures["top5"]), (4, 4, 3, 4))
        red, green, blue = figures["classes"]
        self.assertEqual((red["precision"], red["recall"], red["F1"]), (1, 0.5, 0.667))
        self.assertEqual((green["precision"], green["recall"]), (0.5, 1))
        self.assertEqual((blue["precision"], blue["recall"]), (1, 1))
        self.assertIn({"class": 0, "decision": 1, "count": 1}, figures["confusion"])
        self.assertGreater(figures["latency"]["median_ms"] if "median_ms" in figures["latency"] else 1, 0)
        with open(self.path("confusion.svg")) as file:
            self.assertIn("green leaf", file.read())

    def test_arrays_with_labels(self):
        """An archive with labels, and folders of classes with .npy files; an int8 model gets the same real numbers."""
        def image(*colour):
            return np.broadcast_to(np.array(colour, np.float32)[:, None, None], (3, 4, 4))
        data, plain = self.path("colours.npz"), self.path("plain.npz")
        images = np.stack([image(1, 0, 0), image(.1, .8, 0), image(0, 1, 0), image(0, .1, .3)])
        np.savez(data, x_test=images, y_test=np.array([0, 0, 1, 2]))
        np.savez(plain, data=images)
        for given in ([data], [self.path("classes"), "--labels", self.path("labels.txt")]):
            if given[0] != data:
                for folder, name, values in [("red", "a", images[0]), ("red", "b", images[1]), ("green", "c", images[2][None]), ("2", "d", images[3])]:
                    os.makedirs(os.path.join(given[0], folder), exist_ok=True)
                    np.save(os.path.join(given[0], folder, name + ".npy"), values)
            figures = self.figures("evaluate", self.model, "--data", *given, "--against", self.model, "--no-store")
            self.assertEqual((figures["pictures"], figures["labelled"], figures["top1"], figures["changed"]), (4, 4, 3, 0))
            self.assertIn({"class": 0, "decision": 1, "count": 1}, figures["confusion"])
        self.assertEqual(self.figures("evaluate", self.model, "--data", data, "--no-store")["decisions"][3]["file"], f"{data}: sample 3")
        self.assertNotIn("top1", self.figures("evaluate", self.model, "--data", plain, "--no-store"))
        quantised = self.path("blue8.mlir")
        with open(quantised, "w") as file:
            file.write(blue("i8", "0.02", -5))
        changed = self.figures("evaluate", self.model, "--data", data, "--against", quantised, "--no-store")["changed"]
        self.assertEqual(changed, 3)  # it always says blue
        self.error("evaluate", self.model, "--data", data, "--mean", "0.5", says="--mean.*as they are")
        np.savez(plain, data=images, labels=np.array([0, 1]))
        self.error("evaluate", self.model, "--data", plain, says="plain.npz: 'labels' is i64 2, expected 4 integers")
        np.savez(plain, data=images.astype(np.uint8), labels=np.arange(4) % 3)
        self.error("evaluate", self.model, "--data", plain, says="sample 0: is u8 1x3x4x4, input 'data' expects f32")
        np.savez(plain, labels=np.arange(4), y=np.arange(4))
        self.error("evaluate", self.model, "--data", plain, says="may both be the classes")
        self.error("sweep", self.model, "--data", data, "--no-store", says="colours.npz: is no picture")

    def onnx(self, *properties):
        """The network as ONNX with these properties."""
        def tensor(name, *dims):
            shape = field(2, b"".join(field(1, field(1, dim)) for dim in dims))
            return field(1, name) + field(2, field(1, field(1, 1) + shape))
        graph = (field(1, onnx_node("GlobalAveragePool", ["x"], ["m"])) + field(1, onnx_node("Flatten", ["m"], ["y"])) + field(2, "g") +
                 field(11, tensor("x", 1, 3, 4, 4)) + field(12, tensor("y", 1, 3)))
        path = self.path("properties.onnx")
        with open(path, "wb") as file:
            file.write(field(1, 8) + field(8, field(2, 13)) + field(7, graph) +
                       b"".join(field(14, field(1, key) + field(2, value)) for key, value in properties))
        return path

    def test_preprocessing_that_the_model_states(self):
        data = ["--data", os.path.join(self.data, "red"), "--preprocess", "model"]
        model = self.onnx(("Image.NominalPixelRange", "NominalRange_0_255"), ("Image.BitmapPixelFormat", "Bgr8"))
        decisions = self.figures("evaluate", model, *data)["decisions"]
        self.assertEqual([one["decision"] for one in decisions], [2, 1])  # red is the last channel
        model = self.onnx(("Image.BitmapPixelFormat", "Rgb8"))
        self.assertEqual([one["decision"] for one in self.figures("evaluate", model, *data)["decisions"]], [0, 1])
        self.error("evaluate", self.onnx(), *data, says="properties.onnx states nothing of pictures; give --pixel-range, --mean and --std")
        self.error("evaluate", model, *data, "--mean", "0.5", says="--mean.*--preprocess model takes it from the model's file")
        self.error("evaluate", "zoo:squeezenet", *data, says="zoo:squeezenet does not state how pictures become inputs")

    def test_csv_and_png(self):
        with open(self.path("data.csv"), "w") as file:
            file.write('file,class\npictures/red/a.bmp,"red rose, Rosa rubra"\npictures/green/c.bmp,1\n')
        figures = self.figures("evaluate", self.model, "--data", self.path("data.csv"), "--labels",
                               self.path("labels.txt"), "--confusion", self.path("confusion.png"))
        self.assertEqual(figures["top1"], 2)
        with open(self.path("confusion.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_changed_decisions(self):
        swapped = self.path("swapped.mlir")
        with open(swapped, "w") as file:
            file.write(NETWORK.replace("return %1", "%2 = nn.neg %1 : (tensor<1x3xf32>) -> tensor<1x3xf32>\n  return %2"))
        figures = self.figures("evaluate", self.model, "--data", os.path.join(self.data, "red"), "--random-crops", "5",
                               "--against", swapped)
        self.assertEqual((figures["pictures"], figures["changed"]), (5, 5))
        figures = self.figures("evaluate", self.model, "--data", os.path.join(self.data, "red"), "--against", self.model)
        self.assertEqual((figures["pictures"], figures["changed"]), (2, 0))

    def test_preprocessing(self):
        # Blue and red change places.
        figures = self.figures("evaluate", self.model, "--data", os.path.join(self.data, "red"), "--channels", "bgr")
        self.assertEqual([one["decision"] for one in figures["decisions"]], [2, 1])
        figures = self.figures("evaluate", self.model, "--data", os.path.join(self.data, "red"), "--fit", "crop",
                               "--pixel-range", "0..255", "--mean", "300,0,0")
        self.assertEqual([one["decision"] for one in figures["decisions"]], [1, 1])

    def write(self, name, content):
        with open(self.path(name), "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
        return self.path(name)

    def test_all_models_get_the_same_picture(self):
        real, integer = self.write("real.mlir", blue("f32")), self.write("integer.mlir", blue("i8", "1", -128))
        red = ["--data", os.path.join(self.data, "red")]
        for model, other in ((real, integer), (integer, real)):
            figures = self.figures("evaluate", model, *red, "--against", other)
            self.assertEqual([(one["decision"], one["other_decision"]) for one in figures["decisions"]], [(0, 0), (1, 1)])
            self.assertEqual(figures["pixel_range"], [0, 255])
            for flags in (["--pixel-range", "0..1"], ["--pixel-range", "0..255", "--mean", "200"]):
                figures = self.figures("evaluate", model, *red, "--against", other, *flags)
                self.assertEqual([(one["decision"], one["other_decision"]) for one in figures["decisions"]], [(2, 2), (2, 2)])
        self.assertEqual(self.figures("evaluate", real, *red)["pixel_range"], [0, 1])
        self.assertRegex(self.lathe("evaluate", real, *red, "--against", integer).stdout,
                         r"pixels are 0 to 255, as input 'data' of .*integer.mlir takes them")
        # A scale of two: pixels are twice as large for both.
        integer = self.write("twice.mlir", blue("ui8", "2", 0))
        self.assertEqual(self.figures("evaluate", real, *red, "--against", integer)["pixel_range"], [0, 510])
        # The first of two scales decides: 255 is element 64 of the other input, below the 100 of blue.
        first, other = self.write("one.mlir", blue("i8", "1", -128)), self.write("four.mlir", blue("ui8", "4", 0))
        figures = self.figures("evaluate", first, *red, "--against", other)
        self.assertEqual([(one["decision"], one["other_decision"]) for one in figures["decisions"]], [(0, 2), (1, 2)])
        self.assertEqual(figures["pixel_range"], [0, 255])

    def test_the_other_model_has_flags_of_its_own(self):
        model, definition = self.path("colours.keras"), self.write("scale.mlir", SCALE)
        keras_colours(model)
        custom = ["--custom", f"Scale={definition}"]
        figures = self.figures("evaluate", model, *custom, "--data", os.path.join(self.data, "red"), "--against", self.model)
        self.assertEqual((figures["pictures"], figures["changed"]), (2, 0))
        self.error("evaluate", model, *custom, "--custom", f"Nope={definition}", "--data", self.data, "--labels", self.path("labels.txt"),
                   says="no layer is of class 'Nope'")
        wide = self.write("wide.mlir", NETWORK.replace("array<i64: 2, 3>", "array<i64: 2>").replace("1x3x1x1", "1x3x1x4")
                          .replace("array<i64: 1, 3>", "array<i64: 1, 12>").replace("<1x3xf32>", "<1x12xf32>"))
        self.error("evaluate", self.model, "--data", os.path.join(self.data, "red"), "--against", wide, says="has 12 outputs, .* has 3: other classes")

    def test_what_is_no_picture_is_said(self):
        data = self.path("mixed")
        os.makedirs(os.path.join(data, "red", "inside"))
        os.makedirs(os.path.join(data, ".hidden"))
        bmp(os.path.join(data, "red", "a.bmp"), (255, 0, 0))
        for name in ("b.gif", "c.webp", "._a.bmp", "../.DS_Store", "../notes.txt"):
            with open(os.path.join(data, "red", name), "wb") as file:
                file.write(b"GIF89a")
        os.symlink("nowhere", os.path.join(data, "red", "d.png"))
        figures = self.figures("evaluate", self.model, "--data", data, "--labels", self.path("labels.txt"))
        self.assertEqual(figures["pictures"], 1)
        self.assertEqual([(os.path.basename(one["file"]), one["reason"]) for one in figures["skipped"]],
                         [("notes.txt", "no .png, .jpg or .bmp file"), ("b.gif", "no .png, .jpg or .bmp file"), ("c.webp", "no .png, .jpg or .bmp file"),
                          ("d.png", "a link to nothing"), ("inside", "a folder inside of a class")])
        self.assertIn("skipped 5 files: ", self.lathe("evaluate", self.model, "--data", data, "--labels", self.path("labels.txt")).stdout)

    def test_pictures_that_cannot_be_read(self):
        data = self.path("broken")
        os.makedirs(data)
        bmp(os.path.join(data, "a.bmp"), (255, 0, 0))
        huge = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 100000, 100000, 8, 2, 0, 0, 0)
        for name, content in (("b.png", b""), ("c.jpg", b"text"), ("d.png", huge)):
            with open(os.path.join(data, name), "wb") as file:
                file.write(content)
        said = self.error("evaluate", self.model, "--data", data, says="3 of 4 pictures cannot be read: .*--skip-unreadable")
        for part in ("b.png: is no picture", "c.jpg: is no picture", "d.png: is 100000x100000, expected at most"):
            self.assertIn(part, said)
        figures = self.figures("evaluate", self.model, "--data", data, "--skip-unreadable")
        self.assertEqual((figures["pictures"], len(figures["skipped"])), (1, 3))

    def test_labels(self):
        self.error("evaluate", self.model, "--data", self.data, says="class '(red|green)' is no index of a class: give .* --labels")
        twice = self.write("twice.txt", "red\ncrane\ncrane\n")
        self.error("evaluate", self.model, "--data", self.write("crane.csv", "pictures/red/a.bmp,crane\n"), "--labels", twice,
                   says="crane.csv: line 1: class 'crane' may be that of line 2 or 3 of the labels: give its index, 1 or 2")
        figures = self.figures("evaluate", self.model, "--data", self.write("two.csv", "pictures/green/c.bmp,1\npictures/green/c.bmp,2\n"),
                               "--labels", twice)
        self.assertEqual([one["class"] for one in figures["classes"]], ["crane (1)", "crane (2)"])
        marked = self.write("marked.csv", b"\xef\xbb\xbffile,class\r\npictures/red/a.bmp,0\r\n")
        self.assertEqual(self.figures("evaluate", self.model, "--data", marked)["pictures"], 1)
        quoted = self.write("quoted.csv", '"file","class"\npictures/red/a.bmp,0\n')
        self.assertEqual(self.figures("evaluate", self.model, "--data", quoted)["pictures"], 1)

    def test_any_label_is_drawn(self):
        labels = self.write("hostile.txt", b"\x1b[31mred<script>\n\xff\xfe & \xef\xbf\xbf\n" + "ü".encode() * 40 + b"\n")
        path = self.path("hostile.svg")
        self.lathe("evaluate", self.model, "--data", self.write("all.csv", "".join(f"pictures/red/a.bmp,{i}\n" for i in range(3))),
                   "--labels", labels, "--confusion", path)
        texts = [node.firstChild.data for node in xml.dom.minidom.parse(path).getElementsByTagName("text")]
        self.assertIn("\\x1b[31mred<script>", texts)
        self.assertTrue(any(re.match("üü+[.]{3}ü+$", text) for text in texts), texts)

    def test_numbers_that_are_none(self):
        for flag in ("--mean", "--std", "--input-scale"):
            for value in ("nan", "inf"):
                self.error("evaluate", self.model, "--data", self.data, "--labels", self.path("labels.txt"), flag, value, says=flag)

    def test_errors(self):
        self.error("evaluate", self.model, "--data", self.path("nowhere"), says="nowhere")
        with open(self.path("broken.bmp"), "wb") as file:
            file.write(b"BM")
        with open(self.path("binary.csv"), "wb") as file:
            file.write(b"BM\0\1\xff" * 100)
        self.error("evaluate", self.model, "--data", self.path("binary.csv"), says="binary.csv: is no text, expected one$")
        self.error("evaluate", self.model, "--data", self.data, "--labels", self.path("binary.csv"), says="binary.csv: is no text, expected one$")
        with open(self.path("bad.csv"), "w") as file:
            file.write("broken.bmp,0\n")
        self.error("evaluate", self.model, "--data", self.path("bad.csv"), says="broken.bmp")
        with open(self.path("bad.csv"), "w") as file:
            file.write("pictures/red/a.bmp,cow\n")
        self.error("evaluate", self.model, "--data", self.path("bad.csv"), "--labels", self.path("labels.txt"), says="line 1")
        with open(self.path("two.txt"), "w") as file:
            file.write("red\ngreen\n")
        self.error("evaluate", self.model, "--data", os.path.join(self.data, "red"), "--labels", self.path("two.txt"),
                   says="2 classes")
        self.error("evaluate", self.model, "--data", self.data, "--labels", self.path("labels.txt"), "--confusion", "x.jpg",
                   says=".svg")


if __name__ == "__main__":
    main()
