#!/usr/bin/env python3
"""Runs a command in which ONNX Runtime sees a processor without AVX-512 and VNNI (AVX2 is left), for comparisons with `--target x86-64-v3`.

usage: without_avx512.py FOLDER COMMAND...
       without_avx512.py build/bench/avx2 build/release/bin/lathe compare q.onnx --target x86-64-v3

ONNX Runtime has no switch for it: its kernels are chosen by the instruction CPUID. FOLDER gets a copy of the library in which
every CPUID is an undefined instruction, and a library that answers for it when the signal comes, with the features taken away.
The copy is found through LATHE_RUNNERS. Needs binutils and a C compiler; x86-64 alone.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HANDLER = r"""
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

/* Leaf 7: AVX-512 in all its parts, VNNI and AMX. */
static void answer(int number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *at = (const unsigned char *)registers[REG_RIP];
  if (at[0] != 0x0f || at[1] != 0x0b) {
    signal(number, SIG_DFL);
    return;
  }
  unsigned leaf = registers[REG_RAX], part = registers[REG_RCX], a, b, c, d;
  __cpuid_count(leaf, part, a, b, c, d);
  if (leaf == 7 && part == 0) {
    b &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31);
    c &= ~(1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14);
    d &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25);
  }
  if (leaf == 7 && part == 1) {
    a &= ~(1u << 4 | 1u << 5 | 1u << 21 | 1u << 23);
    d &= ~(1u << 4 | 1u << 5 | 1u << 10);
  }
  registers[REG_RAX] = a, registers[REG_RBX] = b, registers[REG_RCX] = c, registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, 0);
}
"""
CPUID, UNDEFINED = b"\x0f\xa2", b"\x0f\x0b"


def patched(library):
    """The library's bytes with every CPUID replaced, and the number of replacements."""
    sections = subprocess.run(["readelf", "-SW", library], capture_output=True, text=True, check=True).stdout
    address, offset = (int(word, 16) for word in re.search(r"\.text +PROGBITS +(\w+) (\w+)", sections).groups())
    code = subprocess.run("objdump -d -j .text --no-show-raw-insn '%s' | grep -w cpuid" % library, shell=True, capture_output=True, text=True).stdout
    content = bytearray(library.read_bytes())
    places = [int(line.split(":")[0], 16) - address + offset for line in code.splitlines()]
    for place in places:
        assert content[place:place + 2] == CPUID, hex(place)
        content[place:place + 2] = UNDEFINED
    return content, len(places)


def main():
    folder, command = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    handler = folder / "cpuid.so"
    if not handler.exists():
        [library] = (ROOT / "src/laboratory/lab/runners/onnxruntime/node_modules/onnxruntime-node/bin").glob("napi-v*/linux/x64/libonnxruntime.so.1")
        copy = folder / library.relative_to(ROOT / "src/laboratory/lab/runners")
        copy.parent.mkdir(parents=True, exist_ok=True)
        content, count = patched(library)
        assert count, "no CPUID found in %s" % library
        copy.write_bytes(content)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", handler], input=HANDLER, text=True, check=True)
        print("replaced %d CPUID in %s" % (count, copy), file=sys.stderr)
    sys.exit(subprocess.run(command, env={**os.environ, "LATHE_RUNNERS": str(folder), "LD_PRELOAD": str(handler)}).returncode)


main()
