"""`lathe evaluate`: figures by hand on pictures that a small network tells apart, data sets and errors."""
import os
import struct

from fixture import Cli, field, main, onnx_node

# The scores are the means of the red, the green and the blue pixels.
NETWORK = """
func.func @main(%data: tensor<1x3x4x4xf32> {nn.name = "data"}) -> (tensor<1x3xf32> {nn.name = "scores"}) {
  %0 = nn.reduce_mean %data {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x3x4x4xf32>) -> tensor<1x3x1x1xf32> loc("mean")
  %1 = nn.reshape %0 {shape = array<i64: 1, 3>} : (tensor<1x3x1x1xf32>) -> tensor<1x3xf32> loc("scores")
  return %1 : tensor<1x3xf32>
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

    def test_errors(self):
        self.error("evaluate", self.model, "--data", self.path("nowhere"), says="nowhere")
        with open(self.path("broken.bmp"), "wb") as file:
            file.write(b"BM")
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
