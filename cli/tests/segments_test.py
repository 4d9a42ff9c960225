"""`lathe segments`: a network piece by piece against ONNX Runtime."""
import os

from fixture import PEER, Cli, main


class Segments(Cli):
    def test_a_network_piece_by_piece(self):
        listed = self.lathe("segments", self.net, "--list").stdout
        self.assertIn("one tensor passes", listed)
        self.assertIn("relu1", listed)
        self.error("segments", self.net, "--with", "reference", says="expected onnxruntime")
        if not os.path.isdir(PEER):
            print("ONNX RUNTIME IS NOT INSTALLED (make peers): segments are not measured")
            return
        figures = self.figures("segments", self.net, "--at", "relu1,relu2", "--repeat", "3")
        self.assertEqual([(part["from"], part["to"]) for part in figures["cumulative"]], [("", "relu1"), ("", "relu2"), ("", "")])
        self.assertEqual([(part["from"], part["to"]) for part in figures["blocks"]], [("", "relu1"), ("relu1", "relu2"), ("relu2", "")])
        for part in figures["cumulative"] + figures["blocks"]:
            self.assertTrue(part["peers"][0]["agrees"], part)
            self.assertEqual(len(part["sides"][0]["rounds_ns"]), 3)
            self.assertEqual(part["starts"], [1, 1, 1])  # each run in processes of its own
            for side in part["sides"]:  # what a call costs, at the sizes of this part's inputs
                self.assertGreater(side["overhead_us"], 0)
        self.assertTrue(figures["finished"])
        self.assertEqual([part["operators"] for part in figures["blocks"]],
                         [figures["blocks"][0]["operators"]] + [part["operators"] - before["operators"] for part, before in zip(figures["cumulative"][1:], figures["cumulative"])])
        self.error("segments", self.net, "--at", "relu7", says="relu7")
        experiment = [e for e in self.figures("store", "list", "--kind", "segments")["experiments"] if e["points"]][-1]
        points = self.figures("store", "show", experiment["uuid"])["points"]
        self.assertEqual(len(points), 2 * 5)  # the first block is the first part
        self.assertEqual({point["operator"] for point in points}, {"segment"})
        self.assertTrue(any(point["problem"].endswith("data 1x3x12x12 from relu1 to relu2") for point in points), points)


if __name__ == "__main__":
    main()
