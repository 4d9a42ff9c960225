"""`lathe serve`: what is answered, to whom, and what running measurements look like. Requests are written byte by byte."""
import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import unittest

from fixture import LATHE, main
from report_store import HOSTILE, Rows
from serving import Server

TOKEN = "an-own-token-of-24-bytes"
BENCH = ["ops", "bench", "conv2d", "ic8ih7oc8kh1", "ic8ih7oc16kh1", "--provider", "lathe", "--max-seconds", "0.05", "--fresh"]


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.environ["XDG_CACHE_HOME"] = os.path.join(cls.folder.name, "cache")
        os.environ["XDG_DATA_HOME"] = os.path.join(cls.folder.name, "data")
        cls.store = os.path.join(cls.folder.name, "serve.db")
        for _ in range(2):
            subprocess.run([LATHE, *BENCH, "--store", cls.store], check=True, stdout=subprocess.DEVNULL)
        rows = Rows(cls.store)
        cls.a, cls.b = [row["uuid"] for row in rows.db.execute("SELECT uuid FROM experiment ORDER BY started").fetchall()]
        rows.point(rows.one("SELECT id FROM experiment WHERE uuid = ?", cls.b)["id"], "model", HOSTILE, {}, "lathe")
        rows.tuning(rows.experiment("tune"), [3e-3, None, 2e-3])
        rows.db.commit()
        rows.db.close()
        try:
            cls.server = Server(cls.store)
        except AssertionError as error:
            cls.tearDownClass()
            if "npm was missing" in str(error):
                raise unittest.SkipTest("SKIPPED: this build has no page of reports (npm was missing)") from error
            raise

    @classmethod
    def tearDownClass(cls):
        if hasattr(cls, "server"):
            cls.server.stop()
        cls.folder.cleanup()

    def error(self, *flags, says):
        done = subprocess.run([LATHE, "serve", *flags], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, len(done.stderr.splitlines()), done.stdout), (2, 1, ""), done.stderr)
        self.assertIn(says, done.stderr)

    def copied(self):
        path = os.path.join(tempfile.mkdtemp(dir=self.folder.name), "copy.db")
        with sqlite3.connect(self.store) as source, sqlite3.connect(path) as target:
            source.backup(target)
        return path

    def test_it_says_what_is_wrong(self):
        self.error("--store", os.path.join(self.folder.name, "none.db"), says="none.db: does not exist")
        self.error("--store", self.store, "--port", str(self.server.port), says=f"port {self.server.port}: Address already in use")
        self.error("--store", self.store, "--token", "short", says="--token: expected 16 to 256")
        self.error("--store", self.store, "--token", "a token with blanks in it", says="--token: expected 16 to 256")
        self.error("--store", self.store, "--port", "70000", says="--port")
        self.error("--store", self.store, "--host", "203.0.113.7", "--port", "0", says="cannot listen on 203.0.113.7")
        locked = self.copied()
        holder = sqlite3.connect(locked, isolation_level=None)
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        self.error("--store", locked, says="copy.db: database is locked")
        holder.close()

    def test_a_signal_ends_it_quietly(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            server = Server(self.store)
            self.assertEqual(server.store, self.store)
            with server.events() as events:
                events.next()
                self.assertEqual(server.stop(number), (128 + number, ""))

    def test_pages_and_data(self):
        for target, page in [("/", "index"), ("/report", "report"), (f"/report?experiment={self.a[:8]},{self.b}", "report"), (f"/compare?a={self.a}&b={self.b[:8]}", "compare")]:
            answer = self.server.ask(target)
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "text/html; charset=utf-8"), target)
            self.assertEqual(answer.document()["live"]["page"], page)
            policy = answer.headers["content-security-policy"]
            for part in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"]:
                self.assertIn(part, policy)
            self.assertNotIn("'unsafe-inline'", policy.split("script-src")[1].split(";")[0])
            self.assertNotIn(b"http-equiv", answer.body)
            self.assertNotIn(self.folder.name.encode(), answer.body.replace(self.store.encode(), b"") if page != "index" else b"")
            data = self.server.ask(target.replace("/", "/api/", 1) if target != "/" else "/api/index")
            self.assertEqual(data.headers["content-type"], "application/json")
            self.assertNotIn(b"<", data.body)
            self.assertEqual(data.json()["live"]["store"], "serve.db")
        for answer in [self.server.ask("/"), self.server.ask("/none"), self.server.ask("/", "POST"), self.server.ask("/api/index"), self.server.ask("/", host="evil.example")]:
            for name, value in [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"), ("cache-control", "no-store"), ("x-frame-options", "DENY")]:
                self.assertEqual(answer.headers[name], value)
            self.assertIn("frame-ancestors 'none'", answer.headers["content-security-policy"])
            self.assertNotIn("access-control-allow-origin", answer.headers)
        for target in ["/", "/report", "/api/index", "/none", f"/compare?a={self.a}&b={self.b}"]:
            for method in ["GET", "HEAD"]:
                answer = self.server.ask(target, method, Range="bytes=0-3")
                self.assertEqual((answer.repeated, answer.headers["accept-ranges"]), ([], "none"), (target, method))
                self.assertNotEqual(answer.status, 206)
        scripts = [self.server.ask("/").headers["content-security-policy"] for _ in range(2)]
        self.assertNotEqual(*scripts)  # a nonce is used once

    def test_the_list_is_that_of_the_store(self):
        index = self.server.ask("/api/index").json()
        listed = json.loads(subprocess.run([LATHE, "store", "list", "--store", self.store, "--json", "-"], capture_output=True, text=True, check=True).stdout)
        listed = listed["experiments"] if isinstance(listed, dict) else listed
        self.assertEqual([(e["uuid"], e["points"], e["passed"], e["command"]) for e in index["experiments"]], [(e["uuid"], e["points"], e["passed"], e["command"]) for e in listed])
        tuned = next(e for e in index["experiments"] if e["kind"] == "tune")
        self.assertEqual((tuned["records"], tuned["records_passed"]), (3, 2))
        self.assertEqual([(m["text"], m["experiments"]) for m in index["models"]], [(HOSTILE, [self.b])])
        self.assertEqual(sum(p["experiments"] for p in index["platforms"]), 3)

    def test_a_report_is_that_of_the_command(self):
        page = os.path.join(self.folder.name, "r.html")
        for flags, query in [([], ""), (["--experiment", self.a], f"?experiment={self.a}"), (["--operator", "model"], "?operator=model"), (["--provider", "lathe", "--kind", "ops"], "?provider=lathe&kind=ops")]:
            subprocess.run([LATHE, "report", "--store", self.store, "-o", page, "--json", page + ".json", *flags], check=True, stdout=subprocess.DEVNULL)
            with open(page + ".json", encoding="utf-8") as file:
                expected = json.load(file)
            served = self.server.ask("/api/report" + query).json()
            for part in ["points", "tuning", "problems", "experiments", "platforms", "texts", "title"]:
                self.assertEqual(served[part], expected[part], (query, part))

    def test_a_comparison_has_the_verdicts_of_the_command(self):
        said = subprocess.run([LATHE, "ops", "diff", self.a, self.b, "--store", self.store, "--json", "-"], capture_output=True, text=True, check=True)
        expected, served = json.loads(said.stdout), self.server.ask(f"/api/compare?a={self.a}&b={self.b}").json()
        for name in ["faster", "slower", "same", "ambiguous", "only_before", "only_after", "geometric_mean"]:
            self.assertEqual(served[name], expected[name])
        parts = ["problem", "provider", "variant", "verdict", "ratio", "ratio_low", "ratio_high", "before", "after"]
        self.assertEqual([[p.get(name) for name in parts] for p in served["points"]], [[p.get(name) for name in parts] for p in expected["points"]])
        self.assertEqual((served["before"]["uuid"], served["after"]["uuid"]), (self.a, self.b))

    def test_what_is_not_there(self):
        for target in ["/none", "/api", "/api/", "/api/none", "/index.html", "//", "/..", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/report/../../etc/passwd", "/..%2f..%2fetc%2fpasswd",
                       self.store, "/serve.db", "/report%00", "/favicon.ico"]:
            answer = self.server.ask(target)
            self.assertIn(answer.status, [400, 404], target)
            self.assertNotIn(b"root:", answer.body)
            self.assertNotIn(self.folder.name.encode(), answer.body)
        for target, status, says in [("/compare", 400, "expected two experiments"), (f"/compare?a={self.a}", 400, "expected two"), (f"/compare?a={self.a}&b=zz", 404, "begins with 'zz'"),
                                     ("/report?experiment=%3Cimg%3E", 404, "begins with"), ("/report?kind=none", 404, "none"), (f"/report?experiment=zz={self.a}", 404, "begins with 'zz="), ("/report?experiment=' OR 1=1".replace(" ", "%20"), 404, "begins with '' OR 1=1'")]:
            answer = self.server.ask("/api" + target)
            self.assertEqual(answer.status, status, target)
            self.assertIn(says, answer.json()["message"])
            self.assertNotIn(self.folder.name, answer.json()["message"])
            page = self.server.ask(target)
            self.assertEqual((page.status, page.document()["live"]["page"]), (status, "error"))

    def large(self):
        """A copy with more points than are read at once."""
        path = self.copied()
        with sqlite3.connect(path) as db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(point)") if row[1] not in ("id", "key", "starts")]
            names = ", ".join(columns)
            first = db.execute("SELECT min(id) FROM point WHERE status = 'passed'").fetchone()[0]
            db.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO point (key, starts, {names}) SELECT 'made ' || i, '[]', {names} FROM n, point WHERE point.id = ?", (first,))
            made = [row[0] for row in db.execute("SELECT id FROM point WHERE key LIKE 'made %'")]
            db.executemany("INSERT INTO sample (point, round, repetition, wall_ns) VALUES (?, ?, ?, ?)", [(point, i // 2, i % 2, 1000 + point + i) for point in made for i in range(4)])
        return path

    def test_a_large_report_comes_in_pieces(self):
        path = self.large()
        with Server(path) as server:
            self.assertEqual(server.ask("/report", "HEAD").body, b"")
            page = server.ask("/report")
            self.assertEqual((page.status, page.headers["content-type"]), (200, "text/html; charset=utf-8"))
            first = page.chunks[0]
            self.assertIn(">Reading 2505 points of copy.db …<".encode(), first)
            self.assertIn(b"<style>", first)
            nonce = page.headers["content-security-policy"].split("'nonce-")[1].split("'")[0]
            self.assertIn(f'<script type="module" nonce="{nonce}">'.encode(), first)
            self.assertTrue(first.endswith(b'<script type="application/json" id="lathe-data">'))
            self.assertTrue(page.body.rstrip().endswith(b"</html>"))
            again = server.ask("/report")  # which is known now
            self.assertIn("content-length", again.headers)
            self.assertEqual(page.document(), again.document())
            self.assertEqual(page.document(), server.ask("/api/report").json())
            self.assertEqual(page.document()["points"]["count"], 2505)
            for target, status in [("/report?experiment=zz", 404), ("/report?kind=none", 404)]:
                self.assertEqual(server.ask(target).status, status)

    def test_an_error_amid_the_points_is_told(self):
        path = self.large()
        with sqlite3.connect(path) as db:
            db.execute("UPDATE sample SET repetition = repetition + 7 WHERE point = (SELECT id FROM point WHERE key = 'made 1700')")
        with Server(path) as server:
            page = server.ask("/report")
            self.assertEqual((page.status, page.document()["live"]["page"], page.document()["status"]), (200, "error", 503))
            self.assertIn("copy.db: point ", page.document()["message"])
            self.assertTrue(page.body.rstrip().endswith(b"</html>"))
            data = server.ask("/api/report")
            self.assertEqual((data.status, data.json()["message"]), (503, page.document()["message"]))
            self.assertEqual(server.ask(f"/api/report?experiment={self.b}").status, 200)  # which has no such point

    def test_a_store_that_cannot_be_read_now(self):
        path = self.copied()
        with Server(path) as server:
            os.rename(path, path + ".away")
            for target in ["/report", "/", f"/compare?a={self.a}&b={self.b}"]:
                page, data = server.ask(target), server.ask("/api" + target if target != "/" else "/api/index")
                self.assertEqual((page.status, data.status, page.document()["status"]), (503, 503, 503), target)
                for answer in [page, data]:
                    self.assertGreater(int(answer.headers["retry-after"]), 0)
                self.assertEqual(page.document()["live"]["page"], "error")
                self.assertIn("copy.db: does not exist", data.json()["message"])
            with open(path, "w", encoding="utf-8") as other:
                other.write("another file\n" * 100)
            self.assertEqual(server.ask("/api/report").status, 503)
            os.rename(path + ".away", path)
            self.assertEqual(server.ask("/report").status, 200)
            self.assertEqual(server.ask("/api/report?experiment=zz").status, 404)

    def test_only_reading(self):
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]:
            answer = self.server.ask("/api/index", method)
            self.assertEqual((answer.status, answer.headers["allow"]), (405, "GET, HEAD"), method)
        smuggled = self.server.raw(f"POST / HTTP/1.1\r\nHost: {self.server.host}:{self.server.port}\r\nContent-Length: 50\r\n\r\nGET /api/index HTTP/1.1\r\nHost: x\r\n\r\n{'x' * 20}".encode())
        self.assertEqual(smuggled.status, 405)
        self.assertNotIn(b"HTTP/1.1", smuggled.body)  # the body is no second request
        head = self.server.ask("/api/index", "HEAD")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(int(head.headers["content-length"]), len(self.server.ask("/api/index").body))
        self.assertEqual(self.server.ask("/events", "HEAD").status, 200)
        for answer in [self.server.ask("/", "FOO"), self.server.ask("/", "get")]:
            self.assertIn(answer.status, [400, 405])

    def test_the_store_stays_as_it_is(self):
        path = self.copied()

        def content():
            with open(path, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        before = content()
        with Server(path) as server:
            for target in ["/", "/report", f"/compare?a={self.a}&b={self.b}"]:
                self.assertEqual(server.ask(target).status, 200)
        self.assertEqual(content(), before)

    def test_names_of_other_servers(self):
        port = self.server.port
        for host in [f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"]:
            self.assertEqual(self.server.ask("/api/index", host=host).status, 200, host)
        for host in ["", "evil.example", f"evil.example:{port}", "localhost", f"localhost:{port + 1}", f"127.0.0.1.evil.example:{port}"]:
            self.assertEqual(self.server.ask("/api/index", host=host).status, 421, host)
        self.assertEqual(self.server.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status, 421)
        self.assertEqual(self.server.raw(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\n\r\n".encode()).status, 400)

    def test_other_web_sites(self):
        port = self.server.port
        self.assertEqual(self.server.ask("/api/index", Origin=f"http://127.0.0.1:{port}").status, 200)
        for origin in ["http://evil.example", "null", f"http://localhost:{port + 1}", f"https://127.0.0.1:{port}"]:
            self.assertEqual(self.server.ask("/events", Origin=origin).status, 403, origin)
        self.assertEqual(self.server.ask("/api/index", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status, 403)
        self.assertEqual(self.server.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document").status, 200)

    def test_a_token(self):
        with Server(self.store, "--token", TOKEN) as server:
            self.assertNotIn(TOKEN, server.line)
            with open(f"/proc/{server.process.pid}/cmdline") as file:  # which other users can read
                self.assertNotIn(TOKEN, file.read())
            for target in ["/", "/api/index", "/events", "/report", "/none", f"/?token={TOKEN}x", "/?token="]:
                self.assertEqual(server.ask(target).status, 401, target)
            self.assertEqual(server.ask("/api/index", Authorization=f"Bearer {TOKEN}").status, 200)
            self.assertEqual(server.ask("/api/index", Authorization=f"Bearer {TOKEN[:-1]}").status, 401)
            first = server.ask(f"/report?experiment={self.a}&token={TOKEN}")
            self.assertEqual((first.status, first.headers["location"]), (303, f"/report?experiment={self.a}"))
            cookie, *attributes = first.headers["set-cookie"].split("; ")
            self.assertEqual(attributes, ["HttpOnly", "SameSite=Strict", "Path=/"])
            self.assertNotIn(TOKEN, cookie)
            self.assertEqual(server.ask("/api/index", Cookie=cookie).status, 200)
            self.assertEqual(server.ask("/api/index", Cookie=cookie[:-1] + ("0" if cookie[-1] != "0" else "1")).status, 401)
            self.assertEqual(server.ask("/api/index", Cookie=cookie, host="evil.example").status, 421)

    def test_another_address_makes_a_token(self):
        with Server(self.store, "--host", "0.0.0.0") as server:
            self.assertRegex(server.token, "^[0-9a-f]{32}$")
            server.host = "127.0.0.1"
            self.assertEqual(server.ask("/api/index").status, 401)
            self.assertEqual(server.ask("/api/index", Authorization=f"Bearer {server.token}").status, 200)
            self.assertEqual(server.ask("/api/index", host=f"evil.example:{server.port}", Authorization=f"Bearer {server.token}").status, 421)
            self.assertIn("127.0.0.1", [host for host, _, _ in server.hosts])
            for server.host, port, token in server.hosts:  # each is one that can be opened
                self.assertNotEqual(server.host, "0.0.0.0")
                self.assertEqual((port, token), (server.port, server.token))
                self.assertEqual(server.ask(f"/?token={token}").status, 303, server.host)

    def test_too_much_and_nonsense(self):
        host = f"Host: 127.0.0.1:{self.server.port}\r\n"
        for request, statuses in [(f"GET / HTTP/1.1\r\n{host}X: {'x' * 20000}\r\n\r\n", [431]), (f"GET /{'x' * 20000} HTTP/1.1\r\n{host}\r\n", [431]), (f"GET /{'x' * 9000} HTTP/1.1\r\n{host}\r\n", [414]),
                                  (f"GET / HTTP/1.1\r\n{host}" + "A: b\r\n" * 200 + "\r\n", [400]), ("\r\n\r\n", [400]), ("nonsense\r\n\r\n", [400]), (f"GET / HTTP/1.1\r\n{host} folded\r\n\r\n", [400]),
                                  (f"GET / HTTP/1.1\r\n{host}X: \0\r\n\r\n", [400]), ("x" * 100000, [431]), ("\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", [400]), (f"GET http://x/ HTTP/1.1\r\n{host}\r\n", [400])]:
            self.assertIn(self.server.raw(request.encode("latin-1")).status, statuses, request[:60])
        ranged = self.server.ask("/api/index", Range="bytes=" + ",".join(["0-1"] * 1000), Accept_Encoding="br, gzip")
        self.assertEqual(ranged.status, 200)
        self.assertNotIn("content-encoding", ranged.headers)
        self.assertEqual(self.server.ask("/api/index").status, 200)

    def stop_amid(self, bench, store):
        """Stops a process as soon as its experiment is in the store: amid its measurements."""
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
            end = time.monotonic() + 60
            while db.execute("SELECT COUNT(*) FROM experiment WHERE finished IS NULL").fetchone()[0] == 0:
                self.assertIsNone(bench.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
        bench.send_signal(signal.SIGSTOP)

    def test_a_connection_has_several_requests(self):
        request = f"GET /api/index HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n\r\n".encode()
        last = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        with self.server.connect() as connection:
            connection.sendall(request + request + last)  # not waiting for answers
            data = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        self.assertEqual(data.count(b"HTTP/1.1 200 OK"), 3)

    def test_slow_clients_keep_nobody_waiting(self):
        with Server(self.store) as server:
            clients = [server.connect() for _ in range(40)]
            for client in clients[:20]:
                client.sendall(b"GET / HTTP/1.1\r\n")  # and no more
            for client in clients[20:]:  # these take nothing of what they get
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.sendall(f"GET /report HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            self.assertEqual(server.ask("/").status, 200)
            clients += [server.connect() for _ in range(40)]  # too many: these are told at once
            told, waiting, end = 0, set(clients[40:]), time.monotonic() + 10
            while told < 12 and time.monotonic() < end:  # of these 80 at most 64 are served
                for client in select.select(list(waiting), [], [], 1)[0]:
                    waiting.remove(client)
                    told += client.recv(12) == b"HTTP/1.1 503"
            self.assertGreaterEqual(told, 12)
            for client in clients:
                client.close()
            for _ in range(100):  # the server finds out; until then it closes connections without reading
                with contextlib.suppress(ConnectionError):
                    if server.ask("/").status == 200:
                        break
                time.sleep(0.1)
            self.assertEqual(server.ask("/").status, 200)

    def test_a_run_is_followed_to_its_end(self):
        store = self.copied()
        with Server(store) as server, server.events() as events, server.events() as other:
            self.assertEqual({entry["state"] for entry in events.next()["experiments"] if entry["kind"] == "ops"}, {"finished"})
            bench = subprocess.Popen([LATHE, *BENCH, "--store", store], stdout=subprocess.DEVNULL)
            self.addCleanup(bench.kill)
            self.stop_amid(bench, store)  # it may take less time than the server lets pass between two looks
            entry, _ = events.until(None, lambda e: e["state"] == "running")
            bench.send_signal(signal.SIGCONT)
            self.assertEqual((entry["kind"], entry["pid"], entry["planned_points"]), ("ops", bench.pid, 2))
            self.assertNotIn(entry["uuid"], [self.a, self.b])
            self.assertEqual(bench.wait(timeout=120), 0)
            entry, _ = events.until(entry["uuid"], lambda e: e["state"] == "finished")
            self.assertEqual((entry["points"], entry["passed"]), (2, 2))
            other.until(entry["uuid"], lambda e: e["state"] == "finished")  # every client is told
            with server.events(f"/events?from={events.position}") as late:  # which knows all that
                self.assertRaises(socket.timeout, late.next, seconds=1)

    def test_a_killed_run_is_told(self):
        store = self.copied()
        rows = Rows(store)
        with Server(store) as server, server.events() as events:
            events.next()
            sleeper = subprocess.Popen(["sleep", "600"])
            with open(f"/proc/{sleeper.pid}/stat", encoding="utf-8") as file:
                started = int(file.read().rpartition(")")[2].split()[19])
            with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
                boot = file.read().strip()
            experiment = rows.experiment("bench")
            rows.db.execute("UPDATE experiment SET finished = NULL WHERE id = ?", (experiment,))
            rows.db.execute("INSERT INTO owner (experiment, host, boot, pids, pid, started) VALUES (?, ?, ?, ?, ?, ?)",
                            (experiment, socket.gethostname(), boot, os.readlink("/proc/self/ns/pid"), sleeper.pid, started))
            rows.db.commit()
            uuid = "bench-0000-0000"
            self.assertEqual(events.until(uuid, lambda e: True)[0]["state"], "running")
            for count in range(1, 4):  # points come one by one, within a second or two
                rows.point(experiment, "custom", f"point {count}", {}, "lathe")
                rows.db.commit()
                entry, seconds = events.until(uuid, lambda e: e["points"] == count)
                self.assertLess(seconds, 10)  # the machine may be busy
            sleeper.kill()
            sleeper.wait()
            self.assertEqual(events.until(uuid, lambda e: True)[0]["state"], "stopped")
            report = server.ask(f"/api/report?experiment={uuid}").json()
            self.assertEqual(report["points"]["count"], 3)


if __name__ == "__main__":
    main()
