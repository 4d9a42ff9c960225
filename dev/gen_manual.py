#!/usr/bin/env python3
"""Writes the manual pages from what `lathe` says of its verbs and options.

usage: gen_manual.py LATHE SHARE DATE

Writes SHARE/man/man1/lathe.1.gz, a page for every verb (lathe-compile.1.gz, lathe-ops-bench.1.gz), and one for the programs
that lathe starts. DATE (2026-11-26) is printed at the foot.
"""
import gzip
import os
import re
import sys

import cli_description

STORE = "~/.local/share/lathe/lathe.db"
# What is known of a name, and the flag that a verb has which uses it; "": every verb.
FILES = [("~/.cache/lathe", "--no-cache", "Compiled packages, verdicts and the rates of the machine; may be removed at any time."),
         (STORE, "--store", "The default store: measurements and tuning records, in SQLite.")]
ENVIRONMENT = [
    ("COLUMNS", "--wide", "Width of tables, in characters; standard output that is no terminal has no limit by default."),
    ("LATHE_NO_RECORDS", "--store", "With the value 1, compile without tuning records, as --no-records does."),
    ("LATHE_STORE_WAIT", "--store", "Seconds for which a lost server of a store is waited for (300 by default)."),
    ("XDG_CACHE_HOME", "--no-cache", "Keep lathe/ here instead of in ~/.cache."),
    ("XDG_DATA_HOME", "--store", "Keep lathe/lathe.db here instead of in ~/.local/share."),
]
# Of lathe(1) alone.
MORE_ENVIRONMENT = [
    ("LATHE_PROVIDERS", "Folder with further programs lathe-provider-NAME for lathe ops bench."),
    ("LATHE_RUNNERS", "Folder that is searched first for the scripts and npm packages of other runtimes: onnxruntime/, tflite/, tensorflowjs/, tensorflow/."),
    ("LATHE_TENSORFLOW_PYTHON", "Python interpreter that has TensorFlow, for lathe compare --with tensorflow."),
    ("LATHE_TFLITE_LIBRARY", "Native library of TensorFlow Lite's C API that the runner tflite uses (--tflite-library)."),
    ("LATHE_TFLITE_RUNNER", "Command of a native runner of TensorFlow Lite, instead of its WebAssembly build."),
]
PROGRAMS = {
    "lathe-runner": "runs packages, for lathe compare; the runtime alone",
    "lathe-runner-onnxruntime": "runs ONNX files with ONNX Runtime's library, for lathe compare",
    "lathe-runner-tflite": "runs TFLite files with a native library of TensorFlow Lite, for lathe compare and sweep",
    "lathe-provider-lathe": "runs single operators with compiled kernels, for lathe ops bench",
    "lathe-provider-onnxruntime": "runs single operators with ONNX Runtime, for lathe ops bench",
    "lathe-provider-reference": "runs single operators with the reference operators, for lathe ops bench",
    "lathe-tune-builder": "compiles candidates of schedules, for lathe tune",
    "lathe-tune-runner": "checks and times candidates of schedules, for lathe tune; on another machine with lathe tune --via",
    "lathe-read-hdf5": "reads the HDF5 files of Keras models",
}
PROGRAMS_PAGE = "lathe-runner"  # links lead to it from the others
EXIT_CODES = [("0", "Done; what was judged passed."),
              ("1", "Negative verdict: outputs or models differ, outputs are mistrusted, or something is unsupported."),
              ("2", "Wrong input or options: one line on standard error names the place, what was expected and what was found."),
              ("3", "Internal error: please report the line printed."),
              ("128 + n", "Ended by signal n (130: Ctrl-C). Temporary files are removed, what was measured is kept.")]


def literal(text):
    """Text that is printed unchanged, in one line of roff."""
    for old, new in [("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti"), ('"', "\\(dq")]:
        text = text.replace(old, new)
    return "\\&" + text if text.startswith(".") else text


def prose(text):
    """Text whose words may be hyphenated, except flags, files and numbers."""
    def word(match):
        token = match[0]
        plain = re.fullmatch(r"[(]?[A-Za-z]+(-[A-Za-z]+)+[).,;:]*", token)
        return literal(token).replace("\\-", "-") if plain else literal(token)
    return re.sub(r"\S+", word, text)


def lines(text, break_lines=False):
    """Paragraphs of prose; lines after the first are kept apart where `break_lines`."""
    separator = "\n.br\n" if break_lines else "\n"
    return separator.join(prose(line.strip()) for line in text.strip().split("\n") if line.strip()) + "\n"


def bold(text):
    return f"\\fB{literal(text)}\\fR"


def italic(text):
    return f"\\fI{literal(text)}\\fR"


def header(name, date, version):
    title = literal(name.upper())
    return ('.\\" Written by dev/gen_manual.py from "lathe VERB --describe"; do not edit.\n'
            f'.TH {title} 1 "{date}" "lathe {version}" "Lathe"\n')


def entries(pairs, style):
    return "".join(f".TP\n{style(name)}\n{lines(text)}" for name, text in pairs)


def option_entry(option):
    names = ", ".join(bold(name) for name in option.names) if option.names else italic(option.positional)
    notes = []
    if option.takes_value and option.names:
        names += " " + italic(option.word) + (" ..." if option.repeats else "")
    checked = option.type[len(option.word) + 1:]
    if checked.startswith("{"):
        notes.append("One of " + ", ".join(option.values) + ".")
    elif match := re.search(r"in \[(\S+) - (\S+)\]", checked):
        notes.append(f"From {match[1]} to {match[2]}.")
    elif checked.endswith("NONNEGATIVE"):
        notes.append("0 or more.")
    elif checked.endswith("POSITIVE"):
        notes.append("More than 0.")
    if option.names and option.takes_value and option.default:
        notes.append(f"Default: {option.default}.")
    if option.excludes:
        notes.append("Excludes " + ", ".join(option.excludes) + ".")
    if option.names and option.required:
        notes.append("Required.")
    help_text = option.help if option.help.endswith(".") or "\n" in option.help else option.help + "."
    return f".TP\n{names}\n" + lines(help_text, break_lines=True) + (lines(" ".join(notes)) if notes else "")


def examples(footer):
    """The example lines of a footer, which ends with the exit codes."""
    found = footer.split("\nExit code")[0].removeprefix("Examples:\n").rstrip("\n").split("\n")
    commands = [line for line in found if line.startswith("  ")]
    notes = [line for line in found if line.strip() and not line.startswith("  ")]
    body = "\n".join(literal(line[2:]) for line in commands)
    return f".EX\n{body}\n.EE\n" + (".PP\n" + lines("\n".join(notes)) if notes else "")


def reference(names):
    links = [f".BR {literal(name)} (1)" for name in names]
    return ".SH SEE ALSO\n" + " ,\n".join(links) + "\n"


def synopsis(command):
    words = f".B lathe {literal(command.name)}\n"
    if command.verbs:
        return words + ".I VERB\n.RI [ OPTION ]...\n"
    words += ".RI [ OPTION ]...\n"
    for option in command.positionals:
        name = literal(option.positional)
        dots = "..." if option.repeats else ""
        words += (f".IR {name} {dots}\n" if dots else f".I {name}\n") if option.required else f".RI [ {name} ]{dots}\n"
    return words


def verb_page(program, command, summary, date):
    name = "lathe-" + "-".join(command.words)
    flags = {flag for option in command.flags for flag in option.names}
    page = header(name, date, program.version)
    page += f".SH NAME\n{literal(name)} \\- {prose(summary[0].lower() + summary[1:])}\n.SH SYNOPSIS\n{synopsis(command)}"
    page += ".SH DESCRIPTION\n" + lines(command.summary)
    if command.verbs:
        page += ".SH VERBS\n" + entries(command.verbs, bold)
    if command.positionals:
        page += ".SH ARGUMENTS\n" + "".join(option_entry(option) for option in command.positionals)
    if command.flags:
        page += ".SH OPTIONS\n" + "".join(option_entry(option) for option in command.flags)
    page += ".SH EXIT STATUS\n" + entries(EXIT_CODES, bold)
    used = [(variable, text) for variable, flag, text in ENVIRONMENT if flag in flags]
    page += ".SH ENVIRONMENT\n" + entries(used, bold) if used else ""
    files = [(file, text) for file, flag, text in FILES if flag in flags]
    page += ".SH FILES\n" + entries(files, italic) if files else ""
    page += ".SH EXAMPLES\n" + examples(command.footer)
    parents = ["lathe"] + (["lathe-" + command.words[0]] if len(command.words) > 1 else [])
    return name, page + reference(parents + [f"{name}-{verb}" for verb, _ in command.verbs])


def main_page(program, date):
    page = header("lathe", date, program.version)
    page += f".SH NAME\nlathe \\- {prose(program.summary)}\n.SH SYNOPSIS\n.B lathe\n.I VERB\n.RI [ OPTION ]...\n.br\n.B lathe help\n.RI [ VERB ]\n"
    page += ".br\n.B lathe help schedules\n.RI [ ALGORITHM ]\n"
    page += (".SH DESCRIPTION\nA\n.I MODEL\nis an ONNX, TensorFlow Lite, TensorFlow or Keras file, the folder of a TensorFlow SavedModel, "
             "a model as text\n.RI ( .mlir )\nor\n.BI zoo: NAME\nfor a built-in network.\nVerbs that run a model take a compiled package\n"
             ".RI ( .lathe )\nas well; they compile a model first and keep the package.\n"
             "A package contains native code: loading one means trusting it.\n")
    page += ".SH VERBS\n" + "".join(f".TP\n{bold(name)}\n{lines(summary + '.')}" for name, summary in program.verbs)
    page += ".SH OPTIONS\n" + entries([("--help", "Print the verbs and a first session."), ("--version", "Print the version.")], bold)
    page += ".SH EXIT STATUS\n" + entries(EXIT_CODES, bold)
    page += ".SH ENVIRONMENT\n" + entries(sorted([(name, text) for name, _, text in ENVIRONMENT] + MORE_ENVIRONMENT), bold)
    page += ".SH FILES\n" + entries([(name, text) for name, _, text in FILES], italic)
    session = program.footer.split("\n\n")[0].split("\n")[1:]
    page += ".SH EXAMPLES\n.EX\n" + "\n".join(literal(line.strip()) for line in session) + "\n.EE\n"
    return page + reference([f"lathe-{name}" for name, _ in program.verbs] + [PROGRAMS_PAGE])


def programs_page(program, date):
    """One page for the programs that are not started directly."""
    names = ", ".join(literal(name) for name in PROGRAMS)
    page = header(PROGRAMS_PAGE, date, program.version)
    page += f".SH NAME\n{names} \\- programs that lathe starts\n.SH SYNOPSIS\n" + ".br\n".join(f".B {literal(name)}\n" for name in PROGRAMS)
    page += (".SH DESCRIPTION\nCode that can crash, and libraries of others, run in processes of their own. These programs read requests "
             "from standard input\nand write answers to standard output, one line of JSON each; lathe starts them.\n"
             "Their protocols are described in docs/runner\\-protocol.md and docs/provider\\-protocol.md of the source.\n")
    return page + ".SH PROGRAMS\n" + entries([(name, text + ".") for name, text in PROGRAMS.items()], bold) \
        + reference(["lathe", "lathe-compare", "lathe-ops-bench", "lathe-tune"])


def pages(program, date):
    """Name and text of every page."""
    summaries = dict(program.verbs)
    yield "lathe", main_page(program, date)
    for command in program.commands:
        group = next((group for group in program.groups() if group.words == command.words[:-1]), None)
        yield verb_page(program, command, dict(group.verbs)[command.words[-1]] if group else summaries[command.name], date)
    yield PROGRAMS_PAGE, programs_page(program, date)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    lathe, share, date = sys.argv[1:]
    folder = os.path.join(share, "man", "man1")
    made = dict(pages(cli_description.Program(lathe), date))
    for name, text in made.items():
        cli_description.write(os.path.join(folder, name + ".1.gz"), gzip.compress(text.encode(), 9, mtime=0))
    for file in os.listdir(folder):  # pages of removed verbs would be installed
        if file.removesuffix(".1.gz") not in {*made, *PROGRAMS}:
            os.remove(os.path.join(folder, file))
    for name in PROGRAMS:
        link = os.path.join(folder, name + ".1.gz")
        if name != PROGRAMS_PAGE and not os.path.islink(link):
            os.symlink(PROGRAMS_PAGE + ".1.gz", link)


if __name__ == "__main__":
    main()
