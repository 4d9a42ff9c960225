"""--cpus, --memory-node, --frequency-cap and --cache-share of `bench`, `ops bench` and `sweep`, on recorded trees of a machine."""
import contextlib
import glob
import os
import signal
import subprocess
import time

from fixture import LATHE, Cli, main

SHORT = ["--starts", "1", "--max-seconds", "0.2"]
MOST = "3600000"  # kHz


class Resources(Cli):
    def setUp(self):
        self.root = self.path(self.id().split(".")[-1])
        os.makedirs(os.path.join(self.root, "tmp"))
        self.cpus = sorted(os.sched_getaffinity(0))
        self.write("sys/devices/system/cpu/online", ",".join(map(str, self.cpus)))
        self.write("proc/thread-self/status", f"Cpus_allowed_list:\t{','.join(map(str, self.cpus))}\nMems_allowed_list:\t0")
        for cpu in self.cpus:
            for name, khz in [("cpuinfo_min_freq", "800000"), ("cpuinfo_max_freq", MOST), ("scaling_max_freq", MOST)]:
                self.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}", khz)
        environment = {"LATHE_SYSTEM_ROOT": self.root, "TMPDIR": os.path.join(self.root, "tmp")}
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)

        def restore():
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value

        self.addCleanup(restore)

    def write(self, file, text):
        path = os.path.join(self.root, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as stream:
            stream.write(text + "\n")

    def caps(self):
        """The limits of all CPUs."""
        values = set()
        for file in glob.glob(os.path.join(self.root, "sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq")):
            with open(file) as stream:
                values.add(stream.read().strip())
        return values

    def hybrid(self):
        """Gives the tree a performance core and an efficiency core, which are two CPUs of this machine."""
        if len(self.cpus) < 2:
            self.skipTest("this process may use one CPU")
        self.write("sys/devices/cpu_core/cpus", str(self.cpus[0]))
        self.write("sys/devices/cpu_atom/cpus", ",".join(map(str, self.cpus[1:])))

    def stored(self, store):
        (experiment,) = self.figures("store", "list", "--store", store)["experiments"]
        return self.figures("store", "show", experiment["uuid"], "--store", store)["points"]

    def test_bench_stores_what_it_held(self):
        store, bench = self.path("bench.db"), ["bench", self.package, "--repetitions", "3"]
        figures = self.figures(*bench, "--frequency-cap", "2GHz", "--store", store)
        self.assertEqual(figures["resources"], "at most 2000 MHz")
        self.assertEqual(figures["held"], {"frequency_cap": "2000 MHz"})
        self.assertEqual(self.caps(), {MOST})
        (point,) = self.stored(store)
        self.assertEqual(point["setting"]["extra"]["resources"], "at most 2000 MHz")
        self.assertEqual(point["held"], {"frequency_cap": "2000 MHz"})
        csv = self.path("points.csv")
        self.lathe("store", "export", csv, "--format", "csv", "--store", store)
        with open(csv) as file:
            self.assertIn('at most 2000 MHz,"{""frequency_cap"":""2000 MHz""}"', file.read())
        other = self.path("other.db")
        plain = self.figures(*bench, "--store", other)
        self.assertNotIn("resources", plain)
        self.assertNotIn("held", plain)
        (point,) = self.stored(other)
        self.assertNotIn("resources", point["setting"]["extra"])
        self.assertNotIn("held", point)
        self.assertIn("resources: at most 2000 MHz\n", self.lathe(*bench, "--frequency-cap", "2GHz", "--no-store").stdout)
        self.error(*bench, "--frequency-cap", "2GHz", "--frequency-cap", "1GHz", says="--frequency-cap")

    def long_bench(self):
        """A bench that holds a limit."""
        running = subprocess.Popen([LATHE, "bench", self.package, "--repetitions", "100000000", "--frequency-cap", "2GHz", "--no-store"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while not (self.caps() == {"2000000"} and self.has_loaded(running.pid)) and running.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.caps(), {"2000000"})
        return running

    def has_loaded(self, pid):
        """Whether the process has mapped the package. Before that, it sets each limit once to see whether it can."""
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/maps") as maps:
                return self.package in maps.read()
        return False

    def test_a_killed_bench_is_undone_by_the_next(self):  # or by a runner that it was just starting
        with self.long_bench() as running:
            self.error("bench", self.package, "--repetitions", "1", "--frequency-cap", "1GHz", "--no-store",
                       says="--frequency-cap 1GHz: .*scaling_max_freq: another process of Lathe holds a limit")
            running.send_signal(signal.SIGKILL)
            running.wait()
        self.lathe("bench", self.package, "--repetitions", "1", "--no-store")
        self.assertEqual(self.caps(), {MOST})

    def test_a_signal_restores(self):
        with self.long_bench() as running:
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(), 128 + signal.SIGINT)
        self.assertEqual(self.caps(), {MOST})

    def test_sweep_has_an_axis(self):
        store = self.path("sweep.db")
        sweep = ["sweep", self.net, "--levels", "3", *SHORT]
        rows = self.figures(*sweep, "--frequency-cap", "none", "--frequency-cap", "2GHz", "--store", store)["rows"]
        self.assertEqual([row.get("resources") for row in rows], [None, "at most 2000 MHz"])
        self.assertEqual(rows[1]["held"], {"frequency_cap": "2000 MHz"})
        self.assertEqual([row["reason"] for row in rows], ["", ""])
        self.assertEqual(self.caps(), {MOST})
        self.assertEqual(sorted(str(point["setting"]["extra"].get("resources")) for point in self.stored(store)), ["None", "at most 2000 MHz"])
        table = self.lathe(*sweep, "--frequency-cap", "2GHz", "--no-store").stdout
        self.assertIn("resources", table.splitlines()[0])
        self.assertIn("at most 2000 MHz", table)
        self.assertNotIn("resources", self.lathe(*sweep, "--no-store").stdout)

    def test_kinds_of_cores(self):
        self.hybrid()
        store = self.path("kinds.db")
        self.lathe("sweep", self.net, "--levels", "3", *SHORT, "--cpus", "performance", "--cpus", "efficiency", "--store", store)
        held = {point["setting"]["extra"]["resources"]: point["held"]["cpus"] for point in self.stored(store)}
        first, others = str(self.cpus[0]), ",".join(map(str, self.cpus[1:]))
        self.assertEqual(len(held), 2)
        self.assertEqual(held[f"cpus performance ({first})"], first)
        self.assertEqual(held[next(text for text in held if text.startswith("cpus efficiency"))].split("-")[0].split(",")[0], others.split(",")[0])

    def bound_to(self, cpu, program, *arguments):
        """Waits until a thread of the command, or the process `program` that it starts, is bound to the CPU."""
        with subprocess.Popen([LATHE, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            found, end = set(), time.monotonic() + 120
            while str(cpu) not in found and running.poll() is None and time.monotonic() < end:
                for status in glob.glob("/proc/[0-9]*/task/[0-9]*/status"):
                    with contextlib.suppress(OSError):
                        with open(status) as file:
                            fields = dict(line.split(":\t", 1) for line in file if ":\t" in line)
                        if running.pid in (int(fields["Tgid"]), int(fields["PPid"])) and fields["Name"].strip() == program[:15]:  # of the kernel
                            found.add(fields["Cpus_allowed_list"].strip())
            running.send_signal(signal.SIGINT)
        self.assertIn(str(cpu), found)

    def test_what_is_measured_is_bound(self):
        cpu = self.cpus[-1]
        held = ["--cpus", str(cpu), "--no-store", "--max-seconds", "100"]
        self.bound_to(cpu, "lathe", "bench", self.package, "--interval", "1e-9", *held)
        self.bound_to(cpu, "lathe-runner", "sweep", self.net, "--levels", "3", *held)
        self.bound_to(cpu, "lathe-provider-reference", "ops", "bench", "softmax", "8x16", "--provider", "lathe,reference", *held)

    def test_ops_bench_has_an_axis(self):
        store, log, cpu = self.path("ops.db"), self.path("ops.jsonl"), str(self.cpus[0])
        bench = ["ops", "bench", "softmax", "8x16", "--provider", "lathe,reference", "--repetitions", "3", *SHORT]
        limits = ["--cpus", cpu, "--frequency-cap", "none", "--frequency-cap", "1.5GHz"]
        rows = self.figures(*bench, *limits, "--store", store, "--log", log)["rows"]
        self.assertEqual([row["resources"] for row in rows], [f"cpus {cpu}", f"cpus {cpu}, at most 1500 MHz"])
        self.assertEqual([row["held"] for row in rows], [{"cpus": cpu}, {"cpus": cpu, "frequency_cap": "1500 MHz"}])
        self.assertIn(f"--cpus {cpu} --frequency-cap 1.5GHz", rows[1]["repro"])
        self.assertEqual(self.caps(), {MOST})
        points = self.stored(store)
        self.assertEqual(len(points), 4)
        self.assertEqual({point["held"].get("frequency_cap") for point in points}, {None, "1500 MHz"})
        self.assertIn("0 measured now", self.lathe(*bench, *limits, "--store", store, "--log", log).stdout)
        with contextlib.suppress(FileNotFoundError):
            os.remove(log)
        summary = self.lathe(*bench, *limits, "--no-store").stdout.split("\nPeer's time over ours")[1]
        self.assertIn(f"all, cpus {cpu}, at most 1500 MHz", summary)
        tuning = self.figures("records", "list", "--store", store)
        self.assertEqual(tuning["records"], [])

    def test_a_share_of_ways(self):
        self.write("sys/fs/resctrl/info/L3/cbm_mask", "7ff")
        self.write("sys/fs/resctrl/schemata", "L3:0=7ff")
        self.write("sys/fs/resctrl/tasks", "")
        figures = self.figures("bench", self.package, "--repetitions", "3", "--cache-share", "4ways", "--no-store")
        self.assertEqual(figures["resources"], "4 of 11 ways of L3")
        self.assertEqual(figures["held"], {"cache_ways": "L3:0=f"})
        self.assertEqual(glob.glob(os.path.join(self.root, "sys/fs/resctrl/lathe-*")), [])

    def test_a_companion_without_resctrl(self):
        if len(self.cpus) < 2:
            self.skipTest("this process may use one CPU")
        for cpu in self.cpus:
            cache = f"sys/devices/system/cpu/cpu{cpu}/cache/index0/"
            for name, value in [("level", "3"), ("type", "Unified"), ("size", "4M"), ("shared_cpu_list", ",".join(map(str, self.cpus)))]:
                self.write(cache + name, value)
        first, second = self.cpus[:2]
        figures = self.figures("bench", self.package, "--repetitions", "3", "--cpus", str(first), "--cache-share", "25%", "--no-store")
        self.assertEqual(figures["resources"], f"cpus {first}, companion on CPU {second} in 3 of 4 MiB of L3")
        self.assertEqual(figures["held"], {"cpus": str(first), "cache_companion": f"CPU {second} reads {3 << 20} bytes"})
        self.error("bench", self.package, "--cache-share", "25%", says="give --cpus, too")

    def test_refusals_come_first(self):
        for verb in ["bench", "sweep"]:
            self.error(verb, self.net, "--no-store", "--cpus", "efficiency", says="^lathe .*--cpus efficiency: this machine has one kind of core")
            self.error(verb, self.net, "--no-store", "--memory-node", "0", says=r"this kernel has no memory nodes \(NUMA\)")
            self.error(verb, self.net, "--no-store", "--frequency-cap", "9GHz", says="from 800 to 3600 MHz")
        self.write("proc/thread-self/status", "Cpus_allowed_list:\t0\nMems_allowed_list:\t0")
        self.write("sys/devices/system/cpu/online", "0-1")
        ops = ["ops", "bench", "softmax", "8x16", "--provider", "lathe", "--no-store"]
        self.error(*ops, "--cpus", "0-1", says="--cpus 0-1: this process may not use CPU 1; it may use 0")
        self.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", MOST)
        limit = os.path.join(self.root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq")
        os.remove(limit)
        os.symlink("/dev/full", limit)
        self.error("sweep", self.net, "--no-store", "--cpus", "none", "--frequency-cap", "1GHz", says="does not take '1000000': No space left")


if __name__ == "__main__":
    main()
