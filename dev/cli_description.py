"""Verbs and options of `lathe` as `lathe VERB --describe` prints them (cli/flags/Describe.h), for the generators of completions
and manual pages and for their tests."""
import json
import os
import re
import subprocess

MODEL_EXTENSIONS = ["onnx", "tflite", "pb", "pbtxt", "h5", "keras", "mlir"]
PACKAGE_EXTENSION = "lathe"
# What stands in the types of options (`--data DIR|F.csv`) for what a shell completes.
FOLDER_TYPES = {"DIR", "PATH", "INPUT"}
MODEL_TYPES = {"MODEL", "OTHER"}


def ask(lathe, *words):
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "COLUMNS": "100"}
    result = subprocess.run([lathe, *words, "--describe"], capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise SystemExit(f"{lathe} {' '.join(words)} --describe: exit code {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout)


class Option:
    """One option or positional argument of a verb."""

    def __init__(self, record):
        self.names, self.positional = record["names"], record["positional"]
        self.help, self.type, self.default = record["help"], record["type"], record["default"]
        self.required, self.repeats, self.excludes = record["required"], record["repeats"], record["excludes"]
        self.values, self.is_list = record["values"], record["list"]
        self.takes_value = bool(self.type)
        # "TEXT:{auto,nchw}" and "N:INT in [1 - 9]" are a name and checks; a name without letters is CLI11's own.
        self.word = re.split(r":(?=\{|INT|UINT|FLOAT|POSITIVE|NONNEGATIVE|SIZE|TIME)", self.type)[0]

    def kind(self):
        """What a shell completes: ("words" or "list", values), ("files", extensions), ("folder",), ("model", extensions),
        ("experiment",), ("none",); several where values and files are possible."""
        kinds = [("list" if self.is_list else "words", *self.values)] if self.values else []
        subject = self.positional if self.positional and self.word == "TEXT" else self.word
        for part in subject.removesuffix(",...").split("|"):
            if part in MODEL_TYPES:
                packages = "package" in self.help or self.positional == "OTHER"
                kinds.append(("model", *MODEL_EXTENSIONS, *([PACKAGE_EXTENSION] if packages else [])))
            elif part in FOLDER_TYPES:
                kinds.append(("folder",))
            elif match := re.fullmatch(r"[A-Z]+\.(\w+)", part):  # F.onnx, CUT.onnx
                kinds.append(("files", match[1]))
            elif part == "CSV":
                kinds.append(("files", "csv"))
            elif part in ("FILE", "file", "into"):
                kinds.append(("files",))
            elif part in ("ID", "id"):
                kinds.append(("experiment",))
            elif part in ("before", "after"):
                kinds += [("experiment",), ("files",)]
        return kinds or [("none",)]


class Command:
    """`lathe VERB` or `lathe GROUP VERB`; `words` are the verbs."""

    def __init__(self, lathe, words):
        record = ask(lathe, *words)
        self.words, self.name = words, " ".join(words)
        self.summary, self.footer = record["summary"], record["footer"]
        self.options = [Option(option) for option in record.get("options", [])]
        self.flags = [option for option in self.options if option.names]
        self.positionals = [option for option in self.options if option.positional]
        self.verbs = [(verb["name"], verb["summary"]) for verb in record.get("verbs", [])]


class Program:
    """All of `lathe`: `verbs` is a list of (name, summary), `commands` has groups before their verbs."""

    def __init__(self, lathe):
        record = ask(lathe)
        self.version, self.summary, self.footer = record["version"], record["summary"], record["footer"]
        self.verbs = [(verb["name"], verb["summary"]) for verb in record["verbs"]]
        self.algorithms = record["algorithms"]
        self.commands = []
        for name, _ in self.verbs:
            group = Command(lathe, [name])
            self.commands.append(group)
            self.commands += [Command(lathe, [name, verb]) for verb, _ in group.verbs]
        self.networks = next(option.values for command in self.commands if command.name == "zoo" for option in command.positionals)

    def groups(self):
        return [command for command in self.commands if command.verbs]

    def leaves(self):
        return [command for command in self.commands if not command.verbs]


def write(path, content):
    """Writes a file only if its content differs, so that dependent files are not rebuilt."""
    data = content if isinstance(content, bytes) else content.encode()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path) or open(path, "rb").read() != data:
        with open(path, "wb") as file:
            file.write(data)
