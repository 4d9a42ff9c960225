#!/usr/bin/env python3
"""Ctrl-C and other signals during long runs, and Context.cancel:  cancel_test.py PACKAGE_WRITER  (LATHE_LIBRARY_DIR names the
libraries)"""
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import numpy as np

import lathe

writer = sys.argv.pop(1)
ENDLESS = np.array(2**62)
X = np.array([0, 1], np.float32)

BEGIN = """
import lathe, numpy as np, os, signal, sys, threading, time
context = lathe.Package(sys.argv[1], threads=int(sys.argv[2])).context()
endless, x = np.array(2**62), np.array([0, 1], np.float32)
signal.alarm(60)  # ends a program that nothing else has ended
def ready(): print("ready", flush=True)
"""


class Stop(Exception):
    pass


class CancelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "counting.lathe")
        subprocess.run([writer, cls.path, "counting"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.context = lathe.Package(self.path).context()

    def expect_usable(self):
        for trips in (5, 6):
            self.assertEqual(self.context.run([np.array(trips), X])["out"].tolist(), [trips / 2, (trips + 1) / 2])

    def program(self, code, *signals, threads=1):
        """Runs a program, which calls ready() when it expects the next of the signals; its output and exit code."""
        process = subprocess.Popen([sys.executable, "-c", BEGIN + textwrap.dedent(code), self.path, str(threads)], stdout=subprocess.PIPE, text=True)
        with process:
            for number in signals:
                self.assertEqual(process.stdout.readline(), "ready\n")
                time.sleep(0.3)  # so that the run has begun; a signal before the run has the same effect
                process.send_signal(number)
            return process.communicate()[0], process.returncode

    def test_ctrl_c_ends_a_run(self):
        for threads in (1, 2):
            said = self.program("""
                try:
                    ready()
                    context.run([endless, x])
                except KeyboardInterrupt:
                    print("interrupted", context.run([np.array(6), x])["out"].tolist())
                """, signal.SIGINT, threads=threads)
            self.assertEqual(said, ("interrupted [3.0, 3.5]\n", 0))

    def test_ctrl_c_where_the_first_run_begins(self):
        """The extension asks Python for the main thread, and the handler runs then."""
        self.assertEqual(self.program("""
            known = threading.main_thread
            def ask():
                os.kill(os.getpid(), signal.SIGINT)
                return known()
            threading.main_thread = ask
            try:
                context.run([endless, x])
            except KeyboardInterrupt:
                threading.main_thread = known
                print("interrupted", context.run([np.array(6), x])["out"].tolist())
            """), ("interrupted [3.0, 3.5]\n", 0))

    def test_without_pythons_handler_the_program_ends(self):
        self.assertEqual(self.program("""
            context.run([np.array(1), x])
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            ready()
            context.run([endless, x])
            """, signal.SIGINT), ("", -signal.SIGINT))

    def test_an_own_handler_and_the_default_one_again(self):
        self.assertEqual(self.program("""
            told = []
            before = signal.signal(signal.SIGINT, lambda *_: told.append(1))
            ready()
            while not told:
                context.run([np.array(1000000), x])
            signal.signal(signal.SIGINT, before)
            try:
                ready()
                context.run([endless, x])
            except KeyboardInterrupt:
                print("interrupted", len(told))
            """, signal.SIGINT, signal.SIGINT), ("interrupted 1\n", 0))

    def test_a_forked_child_ends_as_well(self):
        self.assertEqual(self.program("""
            context.run([np.array(1), x])
            child = os.fork()
            if not child:
                signal.alarm(60)
                context = lathe.Package(sys.argv[1]).context()
                try:
                    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                    context.run([endless, x])
                except KeyboardInterrupt:
                    os._exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """), ("7\n", 0))

    def test_handlers_run_during_a_run_and_may_end_it(self):
        """The run goes on after a handler that returns; what it may not do with the context is an error."""
        told, signals = [], []

        def handler(*_):
            try:
                answer()
            finally:
                signals.append(1)  # last, so that no signal is sent while a handler runs

        def answer():
            try:
                self.context.reset_states()
                return  # the run has not begun
            except lathe.Error:
                told.append(self.context)
            if len(told) == 1:
                for forbidden in (self.context.run, self.context.close, self.context.reset_states, lambda: self.context.set_input(1, X)):
                    with self.assertRaisesRegex(lathe.Error, "the context is running"):
                        forbidden()
                other = lathe.Package(self.path).context()
                told.append(other.run([np.array(2), X])["out"].tolist())
            elif len(told) == 4:
                raise Stop

        before = signal.signal(signal.SIGUSR1, handler)
        ended = threading.Event()

        def send():
            seen = -1
            while not ended.wait(0.05):
                if len(signals) != seen:  # the handler of the last signal has run
                    seen = len(signals)
                    os.kill(os.getpid(), signal.SIGUSR1)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            with self.assertRaises(Stop):
                self.context.run([ENDLESS, X])
        finally:
            ended.set()
            sender.join()
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(told[1], [1.0, 1.5])
        self.expect_usable()

    def test_cancel_from_a_handler_and_from_another_thread(self):
        before = signal.signal(signal.SIGUSR1, lambda *_: self.context.cancel())
        try:
            for action in (lambda: os.kill(os.getpid(), signal.SIGUSR1), self.context.cancel):
                threading.Timer(0.1, action).start()
                with self.assertRaisesRegex(lathe.Cancelled, "the run was cancelled"):
                    self.context.run([ENDLESS, X])
                self.expect_usable()
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_a_run_in_another_thread(self):
        raised = []

        def run():
            try:
                self.context.run([ENDLESS, X])
            except lathe.Error as error:
                raised.append(type(error))

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(0.1)
        self.context.cancel()
        thread.join(60)
        self.assertEqual(raised, [lathe.Cancelled])
        self.expect_usable()

    def test_a_request_waits_for_the_next_run(self):
        self.context.cancel()
        for profile in (False, True):
            with self.assertRaises(lathe.Cancelled):
                self.context.run([np.array(1), X], profile=profile)
            self.expect_usable()
            self.context.cancel()
        self.context.close()
        with self.assertRaisesRegex(lathe.Error, "the context is closed"):
            self.context.cancel()


unittest.main()
