"""dev/simulate_streams.py: runs whose times are known."""
import pathlib
import random
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "dev"))
import simulate_streams  # noqa: E402

JOIN = 0.01


def item(seconds, units=1, needs=(), constants=0, activations=0, first=0, slots=0):
    row = {"kind": "kernel", "work_item_count": units, "constant_bytes": constants, "bytes": constants + 2 * activations,
           "first_slot": first, "slot_count": slots}
    return simulate_streams.Item(row, [seconds], list(needs))


class Simulated(unittest.TestCase):
    def simulation(self, slots):
        return simulate_streams.Simulation(types.SimpleNamespace(slots=slots, of_one=1e9), JOIN, random.Random(1))

    def test_a_kernel_takes_as_long_as_its_largest_share(self):
        simulation = self.simulation(4)
        for units, slots, share in ((8, 4, 1 / 4), (6, 4, 2 / 6), (2, 4, 1 / 2), (1, 4, 1), (7, 1, 1)):
            seconds = simulation.kernel(0, item(12.0, units), slots, float("inf"))
            self.assertAlmostEqual(seconds, 12 * share + simulation.join(slots), msg=(units, slots))
        # 2e9 bytes of activations, of which another slot has written half, at 1e9 bytes a second
        self.assertAlmostEqual(simulation.kernel(0, item(12.0, 2, activations=2e9), 2, float("inf")), 6 + 0.5 + JOIN)

    def test_streams_wait_for_what_they_use_and_no_longer(self):
        simulation = self.simulation(2)
        chain = [item(1.0, slots=1), item(5.0, slots=1), item(2.0, slots=1, needs=[0], first=1), item(1.0, slots=1, needs=[2])]
        # item 2 begins when item 0 is done; item 3 follows item 1 in its stream, which is later than item 2
        self.assertAlmostEqual(simulation.streams(chain, float("inf")), JOIN + 1 + 5 + 1)
        chain[1].times = [0.5]
        self.assertAlmostEqual(simulation.streams(chain, float("inf")), JOIN + 1 + 2 + 1 + 2 * JOIN / 2)
        self.assertAlmostEqual(simulation.sequence(chain, [1] * 4, float("inf")), 1 + 0.5 + 2 + 1)

    def test_memory_is_shared(self):
        simulation = self.simulation(2)
        pair = [item(1.0, constants=1e9, slots=1), item(1.0, constants=1e9, slots=1, first=1)]
        self.assertAlmostEqual(simulation.streams(pair, 2e9), JOIN + 1)
        self.assertAlmostEqual(simulation.streams(pair, 1e9), JOIN + 2)
        # The second computes and is not slowed down; the first has memory for itself.
        self.assertAlmostEqual(simulation.streams([pair[0], item(1.5, slots=1, first=1)], 1e9), JOIN + 1.5)

    def test_the_baseline_takes_the_best_number_of_slots(self):
        simulation = self.simulation(8)
        items = [item(0.001, 8), item(8.0, 8), item(8.0, 2)]
        self.assertEqual(simulation.best_slots(items, float("inf")), [1, 8, 2])


if __name__ == "__main__":
    unittest.main()
