"""A fresh Debian in a folder, for installing packages. Needs root or user namespaces, mmdebstrap, and a mirror."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import time
import urllib.request

RELEASE = "bookworm"
KEEP_SECONDS = 7 * 24 * 3600  # then the archive of the fresh system is made anew
KEYRING = "debian-archive-keyring"


class Failed(Exception):
    """A command that failed, with what it printed."""


class Unavailable(Exception):
    """The reason why no fresh Debian can be made here."""


def sources():
    """The machine's package sources for Debian itself, as lines of sources.list."""
    lines = []
    for path in glob.glob("/etc/apt/sources.list.d/*.sources"):
        for stanza in open(path).read().split("\n\n"):
            fields = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", stanza, re.M))
            if KEYRING in fields.get("Signed-By", ""):
                lines += [f"deb {uri} {suite} {fields['Components']}" for uri in fields["URIs"].split() for suite in fields["Suites"].split()]
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*.list")]:
        if os.path.exists(path):
            lines += [line.strip() for line in open(path) if re.match(r"deb (\[[^]]*\] )?\S*debian", line)]
    return [line for line in lines if RELEASE in line]


def reachable(line):
    uri, suite = re.sub(r"\[[^]]*\] ", "", line).split()[1:3]
    try:
        urllib.request.urlopen(f"{uri}/dists/{suite}/Release", timeout=20).read(1)
        return True
    except OSError:
        return False


class Chroot:
    """`folder` keeps the archive of the fresh system and the downloaded packages, so that a second run is fast."""

    def __init__(self, folder, root):
        self.folder, self.root, self.downloads = folder, root, os.path.join(folder, "downloads")
        self.enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        if os.geteuid() != 0:
            self.enter += ["--user", "--map-root-user", "--map-auto"]
        if shutil.which("mmdebstrap") is None:
            raise Unavailable("mmdebstrap is not installed (make setup-bench)")
        if subprocess.run([*self.enter, "true"], capture_output=True).returncode != 0:
            raise Unavailable("neither root nor user namespaces (uidmap) are available")
        for place in (self.downloads, root):
            os.makedirs(place, exist_ok=True)
        archive = os.path.join(folder, RELEASE + ".tar")
        if not os.path.exists(archive) or time.time() - os.path.getmtime(archive) > KEEP_SECONDS:
            self.bootstrap(archive)
        subprocess.run([*self.enter, "tar", "-x", "-f", archive, "-C", root, "--exclude=./dev/*", "--numeric-owner"], check=True)
        shutil.copy("/etc/resolv.conf", os.path.join(root, "etc", "resolv.conf"))

    def bootstrap(self, archive):
        lines = sources()
        if not lines or not all(reachable(line) for line in lines):
            raise Unavailable(f"no mirror of Debian {RELEASE} is reachable")
        own = ["unshare", "--mount"] if os.geteuid() == 0 else []  # what it mounts ends with it, even where it is killed
        done = subprocess.run([*own, "mmdebstrap", "--mode=auto", "--variant=minbase", "--format=tar", "--skip=cleanup/apt/lists", RELEASE,
                               archive + ".new", *lines],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"mmdebstrap: exit code {done.returncode}\n{done.stderr[-3000:]}")
        os.rename(archive + ".new", archive)

    def run(self, command):
        """Runs a shell command in the chroot and returns its output."""
        mounts = ["set -e", f"cd {shlex.quote(self.root)}", "mount --make-rprivate / 2>/dev/null || true", "mount -t proc proc proc"]
        for name in ("null", "zero", "full", "random", "urandom", "tty"):
            mounts.append(f"test -e dev/{name} || : >dev/{name}; mount --bind /dev/{name} dev/{name}")
        mounts += ["mkdir -p dev/shm; mount -t tmpfs tmpfs dev/shm", f"mount --bind {shlex.quote(self.downloads)} var/cache/apt/archives"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        words = [f"{name}={value}" for name, value in environment.items()]
        script = "\n".join([*mounts, "exec " + shlex.join(["env", "-i", *words, "chroot", ".", "sh", "-ec", command])])
        done = subprocess.run([*self.enter, "sh", "-c", script], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failed(f"in the chroot: {command}\nexit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    def install(self, *packages):
        """Installs packages by name or by the path of their file in the chroot, with their dependencies and nothing more."""
        self.run("apt-get -o APT::Sandbox::User=root -qq -y --no-install-recommends install " + shlex.join(packages))

    def copy(self, path, place):
        target = os.path.join(self.root, place.lstrip("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(path, target)

    def remove(self):
        subprocess.run([*self.enter, "rm", "-rf", "--one-file-system", self.root], check=True)
