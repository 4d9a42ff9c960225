"""`lathe serve` as a process, and requests to it byte by byte. For its tests."""
import json
import re
import signal
import socket
import subprocess
import time

from fixture import LATHE


class Server:
    def __init__(self, store, *flags):
        self.process = subprocess.Popen([LATHE, "serve", "--store", store, "--port", "0", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = r"http://(\[[^\]]+\]|[^:/]+):(\d+)/(?:\?token=(\w+))?"
        self.hosts = []  # of further addresses, which come first
        self.line = self.process.stdout.readline()
        while further := re.fullmatch(address + "\n", self.line):
            self.hosts.append((further[1].strip("[]"), int(further[2]), further[3]))
            self.line = self.process.stdout.readline()
        match = re.fullmatch(address + r" shows (\S+); Ctrl-C ends it\n", self.line)
        if not match:
            raise AssertionError(self.line + self.process.stderr.read())
        self.host, self.port, self.token, self.store = match[1].strip("[]"), int(match[2]), match[3], match[4]
        self.hosts.append((self.host, self.port, self.token))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, number=signal.SIGINT):
        """Returns the exit code and what was said after the first line."""
        self.process.send_signal(number)
        said = "".join(self.process.communicate(timeout=20))
        return self.process.returncode, said

    def connect(self, timeout=20):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def raw(self, request):
        """Sends bytes and reads until the server closes."""
        with self.connect() as connection:
            try:
                connection.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has answered meanwhile
            parts = []
            while part := connection.recv(1 << 16):
                parts.append(part)
        return Response(b"".join(parts))

    def ask(self, target, method="GET", host=None, **headers):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host if host is not None else f'{self.host}:{self.port}'}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.raw("\r\n".join([*lines, "", ""]).encode())

    def events(self, target="/events"):
        return Events(self, target)


class Response:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1]) if first else 0
        self.headers, self.repeated = {}, []
        for line in lines:
            name, _, value = line.partition(": ")
            if name.lower() in self.headers:
                self.repeated.append(name)
            self.headers[name.lower()] = value
        self.chunks = []  # of an answer in pieces
        if self.headers.get("transfer-encoding") == "chunked" and self.body:
            rest = self.body
            while True:
                size, _, rest = rest.partition(b"\r\n")
                if int(size, 16) == 0:
                    break
                self.chunks.append(rest[:int(size, 16)])
                rest = rest[int(size, 16) + 2:]
            self.body = b"".join(self.chunks)

    def json(self):
        return json.loads(self.body)

    def document(self):
        """The data inside of a page."""
        return json.loads(re.search(rb'<script type="application/json" id="lathe-data">(.*?)</script>', self.body, re.S)[1])


class Events:
    """A stream of events. `next` returns the data of the next one, within some seconds: comments come without end."""
    def __init__(self, server, target):
        self.connection = server.connect(timeout=30)
        self.connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\n\r\n".encode())
        self.text, self.position = b"", ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def next(self, seconds=30):
        end = time.monotonic() + seconds
        while not (match := re.search(rb"id: (\S+)\nevent: change\ndata: ([^\n]*)\n\n", self.text)):
            self.connection.settimeout(max(end - time.monotonic(), 1e-3))
            part = self.connection.recv(1 << 16)
            if not part:
                raise AssertionError("the server has ended the stream")
            self.text += part
        self.text = self.text[match.end():]
        self.position = match[1].decode()
        return json.loads(match[2])

    def until(self, uuid, holds, seconds=30):
        """The state of an experiment once `holds` is true of it, and how long that took."""
        begin = time.monotonic()
        try:
            while (left := begin + seconds - time.monotonic()) > 0:
                for entry in self.next(left)["experiments"]:
                    if (uuid is None or entry["uuid"] == uuid) and holds(entry):
                        return entry, time.monotonic() - begin
        except socket.timeout:
            pass
        raise AssertionError(f"{uuid}: not within {seconds} s")
