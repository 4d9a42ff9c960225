#!/usr/bin/env python3
"""Inputs and outputs without copies: the buffer protocol, DLPack, and how long memory lives:  core_test.py PACKAGE_WRITER
(LATHE_LIBRARY_DIR names the libraries)"""
import array
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import numpy as np

import lathe

writer = sys.argv.pop(1)


class _DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_index", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DlTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Exporter:
    """An object with nothing but __dlpack__, over an array. `fields` replace those of the tensor; `deleted` counts."""

    def __init__(self, values, strides=None, **fields):
        self.values, self.deleted, self.given = values, 0, 0
        kinds = {"f": 2, "i": 0, "u": 1, "b": 6}
        self.dims = (ctypes.c_int64 * max(1, values.ndim))(*values.shape)
        self.strides = (ctypes.c_int64 * len(strides))(*strides) if strides else None
        self.managed = _Managed(_DlTensor(values.ctypes.data, 1, 0, values.ndim, kinds[values.dtype.kind], 8 * values.itemsize, 1, self.dims,
                                          ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)) if strides else None, 0), None, _Deleter(self._delete))
        for name, value in fields.items():
            setattr(self.managed.tensor, name, value)

    def _delete(self, _):
        self.deleted += 1

    def __dlpack__(self, stream=None):
        self.given += 1
        self.capsule = _new_capsule(ctypes.addressof(self.managed), b"dltensor", None)
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


class CoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "plain.lathe")
        subprocess.run([writer, cls.path], check=True)
        cls.x = np.arange(8, dtype=np.float32).reshape(2, 4)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.context = lathe.Package(self.path).context()

    def in_place(self, value, change, values=None):
        """The value is bound in place: a run without inputs sees what `change` does to its memory."""
        values = self.x if values is None else values
        np.testing.assert_array_equal(self.context.run({"x": value})["out"], values * 1.5)
        change()
        np.testing.assert_array_equal(self.context.run()["out"], values * 1.5 + 1.5)

    def test_buffers_are_bound_in_place(self):
        x = self.x.copy()
        self.in_place(x, lambda: np.add(x, 1, out=x))
        y = self.x.copy()
        self.in_place(memoryview(y), lambda: np.add(y, 1, out=y))
        z = array.array("f", self.x.ravel())
        self.in_place(memoryview(z).cast("B").cast("f", (2, 4)), lambda: [z.__setitem__(i, z[i] + 1) for i in range(8)])
        w = self.x.copy()
        w.flags.writeable = False  # inputs are only read
        np.testing.assert_array_equal(self.context.run([w])["out"], self.x * 1.5)
        with self.assertRaisesRegex(lathe.Error, "input 'x': expected f"):
            self.context.run({"x": bytearray(32)})

    def test_the_same_array_may_change_its_shape(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        self.assertEqual(self.context.run([x])["out"].shape, (3, 4))
        x.shape = (12,)
        with self.assertRaisesRegex(lathe.Error, "expected f32 Nx4, got f32 12"):
            self.context.run([x])
        x.shape = (3, 4)
        self.assertEqual(self.context.run([x[1:]])["out"].tolist(), (x[1:] * 1.5).tolist())

    def test_inputs_live_as_long_as_they_are_bound(self):
        class Array(np.ndarray):
            pass

        first = self.x.copy().view(Array)
        gone = weakref.ref(first)
        self.context.run([first])
        del first
        gc.collect()
        self.assertIsNotNone(gone())
        np.testing.assert_array_equal(self.context.run()["out"], self.x * 1.5)
        self.context.run([self.x])
        gc.collect()
        self.assertIsNone(gone())

    def test_dlpack_is_taken_once_and_freed_once(self):
        one = Exporter(self.x.copy())
        self.in_place(one, lambda: np.add(one.values, 1, out=one.values))
        self.assertEqual((one.given, one.deleted), (1, 0))
        self.assertIn('"used_dltensor"', repr(one.capsule))
        two = Exporter(self.x.copy(), strides=(4, 1))
        self.context.run({"x": two})
        self.assertEqual((one.deleted, two.deleted), (1, 0))
        self.context.close()
        self.assertEqual((one.deleted, two.deleted), (1, 1))
        shifted = Exporter(np.concatenate([np.zeros(4, np.float32), self.x.ravel()]).reshape(3, 4), offset=16)
        shifted.dims[0] = 2
        with lathe.Package(self.path).context() as context:
            np.testing.assert_array_equal(context.run([shifted])["out"], self.x * 1.5)
        self.assertEqual(shifted.deleted, 1)

    def test_dlpack_that_is_refused_is_freed_once(self):
        wrong = [(Exporter(self.x.copy(), strides=(1, 2)), r"expected a contiguous tensor, got one of shape \(2, 4\) with strides \(1, 2\)"),
                 (Exporter(self.x.copy(), device=2), "expected a tensor in the CPU's memory, got DLPack's device 2"),
                 (Exporter(self.x.astype(np.int32)), "expected f32, got i32"), (Exporter(self.x.astype(np.float64)), "expected f32, got f64"),
                 (Exporter(self.x.copy(), lanes=4), r"expected f32, got \?"), (Exporter(self.x.copy(), rank=33), "expected at most 32 axes, got 33"),
                 (Exporter(np.zeros((2, 5), np.float32)), "expected f32 Nx4, got f32 2x5")]
        for exporter, says in wrong:
            with self.subTest(says), self.assertRaisesRegex(lathe.Error, "input 'x': " + says):
                self.context.run({"x": exporter})
            self.assertEqual((exporter.given, exporter.deleted), (1, 1))
        taken = Exporter(self.x.copy())
        capsule = taken.__dlpack__()
        ctypes.pythonapi.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
        name = b"used_dltensor"
        ctypes.pythonapi.PyCapsule_SetName(capsule, name)
        taken.__dict__["__dlpack__"] = None
        type_ = type("Taken", (), {"__dlpack__": lambda self: capsule})
        with self.assertRaisesRegex(lathe.Error, "nobody has taken yet"):
            self.context.run({"x": type_()})
        self.assertEqual(taken.deleted, 0)
        np.testing.assert_array_equal(self.context.run([self.x])["out"], self.x * 1.5)

    def test_outputs_stay_as_they_are(self):
        results = [self.context.run([self.x + i])["out"] for i in range(5)]
        view = results[3][1]
        for i, result in enumerate(results):
            np.testing.assert_array_equal(result, (self.x + i) * 1.5)
        del results, result
        gc.collect()
        for i in range(5):
            self.context.run([self.x * 0])
        np.testing.assert_array_equal(view, (self.x[1] + 3) * 1.5)
        self.context.close()
        np.testing.assert_array_equal(view, (self.x[1] + 3) * 1.5)
        view[:] = 7  # an array as any other

    def test_outputs_are_written_in_place(self):
        places = set()
        for _ in range(10):  # the result of the last run is still there when the next one is made
            result = self.context.run([self.x])["out"]
            places.add(result.ctypes.data)
        self.assertLessEqual(len(places), 2)
        self.assertTrue(all(place % 64 == 0 for place in places))
        back = np.from_dlpack(result)
        self.assertEqual(back.ctypes.data, result.ctypes.data)
        np.testing.assert_array_equal(self.context.run([result])["out"], self.x * 2.25)  # an output is an input
        self.assertEqual(self.context.run([self.x], outputs=[]), {})
        np.testing.assert_array_equal(result, self.x * 1.5)

    def test_extents_change(self):
        for rows in (2, 5, 0, 1, 2, 300):
            x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
            np.testing.assert_array_equal(self.context.run({"x": x})["out"], x * 1.5)

    def test_other_threads_go_on_during_a_run(self):
        x = np.zeros((4_000_000, 4), np.float32)
        ended, counted = threading.Event(), [0]

        def count():
            while not ended.is_set():
                counted[0] += 1
                time.sleep(0)

        thread = threading.Thread(target=count)
        self.context.run([x])
        thread.start()
        most, end = 0, time.monotonic() + 60
        while most <= 100 and time.monotonic() < end:  # a busy machine may let the thread wait during one run, not during all
            before = counted[0]
            self.context.run()
            most = max(most, counted[0] - before)
        ended.set()
        thread.join()
        self.assertGreater(most, 100)  # with the interpreter locked there are a few, before and after a run

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch (python3-torch) is missing: its tensors are not tested")
        x = torch.from_numpy(self.x.copy())
        self.in_place(x, lambda: x.add_(1))
        with self.assertRaisesRegex(lathe.Error, "contiguous"):
            self.context.run([torch.zeros(4, 2).T])
        np.testing.assert_array_equal(torch.from_dlpack(self.context.run([x])["out"]).numpy(), x.numpy() * 1.5)

    def test_ctrl_c_after_a_long_run(self):
        code = ("import lathe, numpy as np, signal, sys\nsignal.alarm(60)\ncontext = lathe.Package(sys.argv[1]).context()\nx = np.zeros((100000, 4), np.float32)\n"
                "print('ready', flush=True)\nwhile True: context.run([x])\n")
        process = subprocess.Popen([sys.executable, "-c", code, self.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process:
            process.stdout.readline()
            process.send_signal(2)
            self.assertIn("KeyboardInterrupt", process.communicate()[1])


unittest.main()
