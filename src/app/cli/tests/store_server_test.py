"""Stores on a PostgreSQL server: the verbs work with a URL, and its password is nowhere to be found afterwards."""
import csv
import glob
import io
import os
import shutil
import subprocess
import sys
import time

if "LATHE_TEST_SERVER" not in os.environ:
    if not shutil.which("pg_virtualenv"):
        print("SKIPPED: no tests of stores on PostgreSQL: pg_virtualenv is not installed (Debian: postgresql, postgresql-common)")
        sys.exit(77)
    os.environ["LATHE_TEST_SERVER"] = "1"
    sys.exit(subprocess.run(["pg_virtualenv", "-o", "fsync=off", sys.executable, "-B", *sys.argv]).returncode)

from fixture import LATHE, Cli, main

PASSWORD = os.environ.pop("PGPASSWORD")  # 32 random digits; from here on only the URL has them
SERVER = {name: os.environ.pop(name) for name in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE"]}
OPS = ["ops", "bench", "conv2d", "ic16ih9oc24kh3ph1", "--provider", "lathe", "--max-seconds", "0.05"]


def psql(command, database="postgres", program=("psql", "-Atc")):
    return subprocess.run([*program, command] if command else program, env={**os.environ, **SERVER, "PGPASSWORD": PASSWORD, "PGDATABASE": database},
                          capture_output=True, text=True, check=True).stdout


class StoreServer(Cli):
    def place(self, name):
        """The URL of a new database."""
        psql(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        return f"postgresql://{SERVER['PGUSER']}:{PASSWORD}@{SERVER['PGHOST']}:{SERVER['PGPORT']}/{name}"

    def shown(self, name):
        return f"postgresql://{SERVER['PGUSER']}@{SERVER['PGHOST']}:{SERVER['PGPORT']}/{name}"

    def lathe(self, *arguments, code=0):
        done = super().lathe(*arguments, code=code)
        self.assertNotIn(PASSWORD, done.stdout + done.stderr)
        return done

    def test_the_password_is_nowhere(self):
        url = self.place("secret")
        at = ["--store", url]
        self.error("store", "list", *at, says="secret: has no store: nothing was kept there yet")
        self.lathe("verify", self.net, "--seeds", "1")
        self.assertIn(f"kept in {self.shown('secret')}, experiment ", self.lathe("bench", self.net, "--repetitions", "5", *at).stdout)
        self.lathe(*OPS, "--store=" + url)
        self.lathe("profile", self.net, "--repetitions", "3", *at)
        self.lathe("tune", self.net, "--tasks", "conv2", "--trials", "1", "--margin", "0", *at)
        self.lathe("bench", self.net, "--repetitions", "3", *at)  # with the records
        self.lathe("sweep", self.net, "--levels", "3", "--max-seconds", "0.2", *at)
        kept = self.figures("store", "list", *at)
        self.assertEqual(kept["store"], self.shown("secret"))
        self.assertIn("bench", {e["kind"] for e in kept["experiments"]})
        self.assertIn(f"--store {self.shown('secret')}", kept["experiments"][0]["command"])
        for points in (self.figures("store", "show", e["uuid"], *at)["points"] for e in kept["experiments"]):
            for point in points:
                self.assertNotIn(PASSWORD, point["repro"])
        self.lathe("report", "-o", self.path("page.html"), *at)
        self.lathe("ops", "analyze", *at)
        self.lathe("records", "list", *at)
        self.lathe("store", "export", self.path("all.jsonl"), *at)
        self.lathe("store", "trend", *at)
        self.lathe("store", "path", *at)
        wrong = url.replace(PASSWORD, PASSWORD[::-1])
        message = self.error("bench", self.net, "--store", wrong, says="password authentication failed.*--no-store measures without keeping")
        self.assertNotIn(PASSWORD[::-1], message)
        self.assertNotIn(PASSWORD[::-1][:10], self.error("store", "list", "--store", url.replace(PASSWORD, PASSWORD[::-1] + "/"), says="write '@' as %40"))
        # In no file that was written, and not in the database.
        for path in glob.glob(os.path.join(self.folder.name, "**"), recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.assertNotIn(PASSWORD.encode(), file.read(), path)
        dump = psql(None, "secret", ("pg_dump",))
        self.assertIn("CREATE TABLE lathe.experiment", dump)
        self.assertNotIn(PASSWORD, dump)

    def test_the_list_of_processes_has_no_password(self):
        running = subprocess.Popen([LATHE, "bench", self.package, "--repetitions", "100000", "--store", self.place("processes")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.time() + 30
            command = ""
            while self.shown("processes") not in command and time.time() < deadline and running.poll() is None:
                with open(f"/proc/{running.pid}/cmdline") as file:
                    command = file.read()
            self.assertIn(self.shown("processes"), command)
            self.assertNotIn(PASSWORD, command)
        finally:
            running.terminate()
            running.wait()

    def test_stores_merge_in_any_direction(self):
        team, other = self.place("team"), self.place("other")
        mine, back = self.path("mine.db"), self.path("back.db")
        self.lathe("bench", self.package, "--repetitions", "4", "--store", mine)
        self.lathe(*OPS, "--store", team)
        merged = self.figures("store", "merge", team, mine)
        self.assertEqual((merged["store"], merged["points"]["added"]), (self.shown("team"), 1))
        self.assertEqual(self.figures("store", "merge", other, team)["counts"], merged["counts"])
        self.assertEqual(self.figures("store", "merge", back, other)["counts"], merged["counts"])
        self.assertEqual(self.figures("store", "import", other, "--store", mine)["counts"], merged["counts"])
        exported = {self.lathe("store", "export", "-", "--store", place).stdout for place in [mine, team, other, back]}
        self.assertEqual(len(exported), 1)
        self.assertEqual(self.figures("store", "merge", team, back, mine, other)["points"]["added"], 0)

    def test_other_ways_to_say_the_password(self):
        self.lathe(*OPS, "--store", self.place("ways"))
        for environment in [{**SERVER, "PGPASSWORD": PASSWORD}, {"PGPASSFILE": self.path("pass"), **SERVER}, {"PGSERVICEFILE": self.path("services")}]:
            with open(self.path("pass"), "w") as file:
                file.write(f"*:*:*:*:{PASSWORD}\n")
            os.chmod(file.name, 0o600)
            with open(self.path("services"), "w") as file:
                file.write("[team]\n" + "".join(f"{name}={value}\n" for name, value in
                                                [("host", SERVER["PGHOST"]), ("port", SERVER["PGPORT"]), ("user", SERVER["PGUSER"]), ("password", PASSWORD)]))
            url = "postgresql:///ways" + ("?service=team" if "PGSERVICEFILE" in environment else "")
            done = subprocess.run([LATHE, "store", "list", "--store", url], env={**os.environ, **environment}, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("1 point", done.stdout)
        for name in ["pass", "services"]:
            os.remove(self.path(name))

    def test_ten_programs_measure_at_once(self):
        url = self.place("many")
        running = [subprocess.Popen([LATHE, "bench", self.package, "--repetitions", "3", "--store", url], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True) for _ in range(10)]
        for program in running:
            self.assertEqual(program.communicate()[1], "")
            self.assertEqual(program.returncode, 0)
        self.assertEqual(self.figures("store", "list", "--store", url)["counts"],
                         {"platforms": 1, "experiments": 10, "points": 10, "samples": 30, "tuning": 0})
        trend = self.figures("store", "trend", "net.lathe", "--store", url)["series"]
        self.assertEqual([len(series["observations"]) for series in trend], [10])
        self.assertEqual([o["measured"] for o in trend[0]["observations"]], sorted(o["measured"] for o in trend[0]["observations"]))
        self.assertIn("net.lathe", self.lathe("store", "trend", self.package, "--store", url).stdout)
        rows = list(csv.DictReader(io.StringIO(self.lathe("store", "trend", "--csv", "-", "--store", url).stdout)))
        self.assertEqual(len(rows), 10)
        self.assertEqual({row["samples"] for row in rows}, {"3"})
        self.assertEqual({row["revision"] for row in rows}, {o["revision"] for o in trend[0]["observations"]})
        self.error("store", "trend", "frobnicate", "--store", url, says="has no times of 'frobnicate'")


if __name__ == "__main__":
    main()
