#!/usr/bin/env python3
"""Makes the Debian packages, looks into them, and installs, uses and removes them in a fresh Debian.

usage: packages_test.py SOURCE BUILD CPACK CC PACKAGE_WRITER

The fresh system and what it downloads are kept in BUILD/debian-test. Without a mirror or the right to change the root folder
the second half is skipped (exit code 77).
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chroot  # noqa: E402

SOURCE, BUILD, CPACK, CC, WRITER = sys.argv[1:]
PACKAGES = ["lathe-runtime", "lathe-tools", "lathe-dev"]
LATHE = os.path.join(BUILD, "bin", "lathe")
MLIR = "/usr/lib/llvm-19/lib"  # where Debian keeps libMLIR
NETWORK = "squeezenet"
started = time.monotonic()


def run(*command, expect=0, **options):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **options)
    if done.returncode != expect:
        sys.exit(f"packages_test: {' '.join(command)}: exit code {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout


def require(condition, text):
    """Ends the test if the condition is false."""
    if not condition:
        sys.exit("packages_test: " + text)


def say(text):
    print(f"{time.monotonic() - started:6.1f} s  {text}", flush=True)


def field(package, name):
    return run("dpkg-deb", "-f", package, name).strip()


def looked_into(files):
    """Checks control files and contents of the three packages."""
    triplet = run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    wanted = {
        "lathe-runtime": [f"usr/lib/{triplet}/liblathe_runtime.so.1", f"usr/lib/{triplet}/liblathe_references.so",
                          f"usr/lib/{triplet}/lathe/lathe_python.abi3.so"],
        "lathe-tools": ["usr/bin/lathe", "usr/bin/lathe-serve", "usr/bin/lathe-runner", "usr/bin/lathe-tune-runner",
                        f"usr/lib/{triplet}/lathe/liblathe_cli_compiler.so", "usr/share/man/man1/lathe.1.gz",
                        f"usr/lib/{triplet}/liblathe_compiler.so.1", "usr/share/man/man1/lathe-ops-bench.1.gz",
                        "usr/share/bash-completion/completions/lathe", "usr/share/zsh/vendor-completions/_lathe"],
        "lathe-dev": ["usr/include/lathe/runtime.h", "usr/include/lathe/builder.hpp", f"usr/lib/{triplet}/liblathe_runtime.so",
                      f"usr/lib/{triplet}/liblathe_runtime.a", f"usr/lib/{triplet}/pkgconfig/lathe.pc", f"usr/lib/{triplet}/cmake/lathe/latheConfig.cmake"],
    }
    version = field(files["lathe-runtime"], "Version")
    for name, file in files.items():
        contents = run("dpkg-deb", "-c", file).split("\n")[:-1]
        paths = {line.split(" -> ")[0].split()[-1].removeprefix("./") for line in contents}
        for path in [*wanted[name], f"usr/share/doc/{name}/copyright", f"usr/share/doc/{name}/changelog.Debian.gz"]:
            require(path in paths, f"{name}: {path} is missing among\n" + "\n".join(sorted(paths)))
        for line in contents:
            mode, owner = line.split()[:2]
            require(mode in ("-rw-r--r--", "-rwxr-xr-x", "drwxr-xr-x", "lrwxrwxrwx") and owner == "root/root", f"{name}: {line}")
        if name != "lathe-runtime":
            require(f"lathe-runtime (= {version})" in field(file, "Depends"), f"{name}: depends on {field(file, 'Depends')}")
        require(field(file, "Description").count("\n") > 2 and field(file, "Section") and field(file, "Priority") == "optional", f"{name}: control file")
        size, installed = os.path.getsize(file) / 1e6, int(field(file, "Installed-Size")) / 1e3
        say(f"{name} {version}: {size:.1f} MB, {installed:.1f} MB installed; depends on {field(file, 'Depends')}")
    require("llvm" not in field(files["lathe-runtime"], "Depends").lower(), "lathe-runtime depends on LLVM")
    require("libmlir-19" in field(files["lathe-tools"], "Depends"), "lathe-tools does not depend on libmlir-19")


def binaries_are_clean(files, folder):
    """No program or library has unneeded symbols, or searches libraries in the folders of the build."""
    count = 0
    for name, file in files.items():
        place = os.path.join(folder, name)
        run("dpkg-deb", "-x", file, place)
        for path in glob.glob(os.path.join(place, "**", "*"), recursive=True):
            if os.path.islink(path) or not os.path.isfile(path) or open(path, "rb").read(4) != b"\x7fELF":
                continue
            count += 1
            paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", path))
            require(all(part in ("$ORIGIN", MLIR) for text in paths for part in text.split(":")), f"{path}: looks for libraries in {paths}")
            require(".symtab" not in run("readelf", "-S", "-W", path), f"{path}: is not stripped")
    require(count >= 12, f"only {count} programs and libraries were found")


def lint(files):
    if shutil.which("lintian") is None:
        say("SKIPPED: lintian is not installed (make setup-bench)")
        return
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *files.values()], capture_output=True, text=True)
    require(done.returncode == 0, f"lintian:\n{done.stdout}{done.stderr}")
    say("lintian finds no errors and no warnings")


def use_runtime(system, files, folder):
    """The runtime alone runs a package compiled elsewhere; LLVM is not installed."""
    system.install("/packages/" + os.path.basename(files["lathe-runtime"]))
    installed = system.run("dpkg-query -W -f '${Package}\\n'")
    require("llvm" not in installed.lower() and "mlir" not in installed.lower(), "LLVM was installed with the runtime")
    triplet = run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    library = os.path.join(folder, "lathe-runtime", "usr", "lib", triplet)
    program, network = os.path.join(folder, "run"), os.path.join(folder, "network.lathe")
    run(CC, os.path.join(SOURCE, "examples", "c", "run.c"), "-I", os.path.join(folder, "lathe-dev", "usr", "include"), "-o", program,
        "-L", library, "-l:liblathe_runtime.so.1")
    run(LATHE, "compile", f"zoo:{NETWORK}", "-o", network, "--quiet")
    run(WRITER, os.path.join(folder, "reference.lathe"), "reference")
    for path in (program, network, os.path.join(folder, "reference.lathe")):
        system.copy(path, "/try/" + os.path.basename(path))
    outside = run(program, network, env={**os.environ, "LD_LIBRARY_PATH": library})
    require(": " in outside and system.run("/try/run /try/network.lathe") == outside, f"the network's outputs are not {outside}")
    require("-0.5 -0.5" in system.run("/try/run /try/reference.lathe"), "an operator without code fails")
    say("lathe-runtime alone runs a network that was compiled outside")


def use_tools(system, files):
    system.install("/packages/" + os.path.basename(files["lathe-tools"]), "man-db")
    require(system.run("lathe --version").strip() == "lathe " + field(files["lathe-tools"], "Version").split("-")[0], "lathe --version")
    model = f"zoo:{NETWORK}"
    for command in (f"lathe check {model}", f"lathe compile {model} -o /try/own.lathe", "lathe run /try/own.lathe --fill random", f"lathe verify {model} --seeds 1",
                    f"lathe zoo {NETWORK} -o /try/net.onnx", "lathe inspect /try/net.onnx",
                    "lathe ops bench conv2d mb1ic8ih8oc8kh3ph1 --provider lathe,reference --check-only", "lathe serve --help"):
        system.run(command)
        say(f"{command}: fine")
    require("--layout" in system.run("man lathe-compile"), "man lathe-compile does not show --layout")
    require("/man1/lathe-ops-bench.1" in system.run("man -w lathe-ops-bench"), "man finds no lathe-ops-bench")
    completed = system.run("bash -c '. /usr/share/bash-completion/completions/lathe; complete -p lathe'")
    require("-F _lathe lathe" in completed, f"bash completes with {completed}")
    require(system.run("lathe completion zsh") == system.run("cat /usr/share/zsh/vendor-completions/_lathe"), "lathe completion zsh")


def use_development(system, files):
    system.install("/packages/" + os.path.basename(files["lathe-dev"]), "g++", "pkg-config", "cmake", "make")
    for name in ("run.c", "CMakeLists.txt"):
        system.copy(os.path.join(SOURCE, "examples", "c", name), "/try/c/" + name)
    expected = system.run("/try/run /try/network.lathe")
    system.run("cd /try/c && gcc run.c -o by-pkg-config $(pkg-config --cflags --libs lathe) && cmake -S . -B build && cmake --build build")
    for program in ("by-pkg-config", "build/run", "build/run_static"):
        require(system.run(f"/try/c/{program} /try/network.lathe") == expected, f"/try/c/{program}: other outputs")
    say("lathe-dev: the example in C is built by pkg-config and by CMake, shared and static")


def removed(system):
    """Purged packages leave nothing behind."""
    system.run("apt-get -qq -y purge lathe-dev lathe-tools lathe-runtime")
    # What others keep: /packages and /try are the test's, /root the user's, the caches those of apt and of man.
    others = ["/packages/*", "/try/*", "/root/*", "/proc/*", "/var/cache/apt/*", "/var/cache/man/*"]
    left = system.run("find / -xdev -name '*lathe*' " + " ".join(f"-not -path '{path}'" for path in others))
    left = [line for line in left.split("\n") if line]
    require(not left, "left after purging: " + ", ".join(left))
    require("lathe" not in system.run("dpkg-query -W; ldconfig -p"), "dpkg or ldconfig know a package of ours")
    say("purged: nothing is left")


def main():
    for old in glob.glob(os.path.join(BUILD, "packages", "*.deb")):
        os.remove(old)
    run(CPACK, "--config", os.path.join(BUILD, "CPackConfig.cmake"), cwd=BUILD)
    files = {}
    for name in PACKAGES:
        [files[name]] = glob.glob(os.path.join(BUILD, "packages", name + "_*.deb"))
    say("packages made")
    keep = os.path.join(BUILD, "debian-test")
    os.makedirs(keep, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=keep) as folder:
        looked_into(files)
        binaries_are_clean(files, folder)
        lint(files)
        try:
            system = chroot.Chroot(keep, os.path.join(folder, "root"))
        except chroot.Unavailable as reason:
            print(f"SKIPPED: the packages were not installed in a fresh Debian: {reason}")
            return 77
        try:
            for file in files.values():
                system.copy(file, "/packages/" + os.path.basename(file))
            say("a fresh Debian is there")
            use_runtime(system, files, folder)
            use_tools(system, files)
            use_development(system, files)
            removed(system)
        except chroot.Failed as error:
            sys.exit(f"packages_test: {error}")
        finally:
            system.remove()
    return 0


sys.exit(main())
