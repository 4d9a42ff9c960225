"""`lathe tune` over candidates that crash, hang, allocate without end or compute wrong numbers (LATHE_INJECT_FAULTS)."""
import os

from fixture import Cli, main

# The fault -> the status and a part of the reason of its record.
FAULTS = {"crash": ("crashed", "signal 11"), "hang": ("timed_out", "no answer within 10 s"), "allocate": ("memory_exceeded", "memory"),
          "wrong": ("failed", "result 0: ")}


class TuneFaults(Cli):
    knows_machine = True

    def records(self, store, *select):
        return self.figures("records", "list", "--store", store, *select)["records"]

    def inject(self, faults):
        """`faults`: schedule -> kind."""
        os.environ["LATHE_INJECT_FAULTS"] = "; ".join(f"{kind} {schedule}" for schedule, kind in faults.items())
        self.addCleanup(os.environ.pop, "LATHE_INJECT_FAULTS", None)

    def tune(self, store, trials):
        """Candidates and their order do not depend on times."""
        command = ["tune", self.net, "--tasks", "conv2", "--searcher", "grid", "--margin", "0", "--store", store, "--trials", str(trials)]
        return command, self.figures(*command)

    def test_every_kind_is_recorded_counted_and_never_kept(self):
        sound = self.path("sound.db")
        self.tune(sound, 1)
        prior, = [record["schedule"] for record in self.records(sound)]
        self.tune(sound, 16)
        times = {record["schedule"]: record["seconds"] for record in self.records(sound) if record["status"] == "passed"}
        del times[prior]
        self.assertEqual(len(times), 15)
        faults = dict(zip(sorted(times, key=times.get), FAULTS))  # the fastest candidates, which a search would keep
        self.inject(faults)

        store = self.path("faults.db")
        command, report = self.tune(store, 16)
        self.assertEqual(report["ended"], "every task is at its limit")
        records = {record["schedule"]: record for record in self.records(store)}
        self.assertEqual(set(records), {*times, prior})
        for schedule, record in records.items():
            if schedule not in faults:
                self.assertEqual(record["status"], "passed", record)
                continue
            status, reason = FAULTS[faults[schedule]]
            self.assertEqual(record["status"], status, record)
            self.assertIn(reason, record["reason"])
            self.assertNotIn("seconds", record)
            self.assertNotIn("samples_ns", record)
            self.assertNotEqual(record.get("verdict"), "faster", record)
        failed = self.records(store, "--status", "crashed,timed_out,memory_exceeded,failed")
        self.assertEqual({record["schedule"] for record in failed}, set(faults))

        counts = {f"1 {status}" for status, _ in FAULTS.values()}
        task, = report["tasks"]
        self.assertEqual(set(task["failed"].split(", ")), counts)
        self.assertNotIn(task["schedule"], faults)
        package = self.path("kept.lathe")
        self.lathe("compile", self.net, "-o", package, "--store", store)
        kernels = self.figures("inspect", package)["plans"][0]["kernels"]
        tuned, = [kernel for kernel in kernels if "conv2" in kernel["nodes"]]  # another may have one of the schedules by itself
        self.assertNotIn(tuned["schedule"], faults)

        # Going on, the table still counts them, and none is tried again.
        again = self.lathe(*command, "--wide").stdout
        for count in counts:
            self.assertIn(count, again)
        self.assertIn("1 trial,", again)  # the default schedule

    def test_the_default_schedule_may_fail_too(self):
        sound = self.path("default.db")
        self.tune(sound, 1)
        prior, = [record["schedule"] for record in self.records(sound)]
        self.inject({prior: "crash"})
        store = self.path("default-faulty.db")
        _, report = self.tune(store, 4)
        task, = report["tasks"]
        self.assertEqual((task["trials"], task["failed"], task["before_us"]), (4, "1 crashed", None))
        self.assertNotEqual(task["schedule"], prior)
        self.assertEqual({record["status"] for record in self.records(store)}, {"passed", "crashed"})


if __name__ == "__main__":
    main()
