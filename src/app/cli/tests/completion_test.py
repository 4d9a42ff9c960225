"""Completions of bash and zsh: both shells run, and what they offer is compared with what the help of every verb lists."""
import functools
import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

from fixture import LATHE, Cli, main

SHARE = os.path.join(os.path.dirname(LATHE), "..", "share")
SCRIPTS = {"bash": os.path.join(SHARE, "bash-completion", "completions", "lathe"),
           "zsh": os.path.join(SHARE, "zsh", "vendor-completions", "_lathe")}

# Reads a command a line, cuts it into words as readline does, completes the last word and prints what is offered.
BASH_DRIVER = r"""
source "$1"
function=$(complete -p lathe | sed -n 's/.*-F \([^ ]*\) lathe/\1/p')
while IFS= read -r COMP_LINE; do
  COMP_POINT=${#COMP_LINE}
  IFS=$'\t' read -ra COMP_WORDS < <(sed 's/\([:=]\+\)/ \1 /g; s/  */\t/g' <<<"$COMP_LINE.")
  last=$((${#COMP_WORDS[@]} - 1))
  COMP_WORDS[last]=${COMP_WORDS[last]%.}
  # Behind a colon or an equals sign readline's current word is the sign itself.
  [[ ! ${COMP_WORDS[last]} && $COMP_LINE == *[:=] ]] && unset "COMP_WORDS[$last]" && last=$((last - 1))
  COMP_CWORD=$last
  COMPREPLY=()
  $function lathe "${COMP_WORDS[last]}" "${COMP_WORDS[last - 1]}"
  printf '%s\t' "${COMPREPLY[@]}"
  echo
done
"""

# A widget completes the line and appends every word that any function offers to the file $CAPTURE.
ZSH_SETUP = r"""
PROMPT='' RPROMPT='' LISTMAX=-1 KEYTIMEOUT=1
unsetopt auto_list auto_menu beep
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a hits
  builtin compadd -O hits "$@"
  offered+=("${(@)hits}")
  builtin compadd "$@"
}
ask() {
  typeset -ga offered
  offered=()
  zle complete-word
  print -r -- "${(pj:\t:)offered}" >>$CAPTURE
  BUFFER=
}
zle -N ask
bindkey '^X' ask
print ready >>$CAPTURE
"""


def contents(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def wait_for(condition, what, seconds=60):
    """`what` returns the text of the error."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what()}: nothing after {seconds} s")
        time.sleep(0.02)


class Terminal:
    """An interactive shell on a terminal of its own."""

    def __init__(self, *command, env):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", **env})
        self.shown = ""

    def send(self, text):
        os.write(self.file, text.encode())

    def read(self):
        while select.select([self.file], [], [], 0)[0]:
            try:
                piece = os.read(self.file, 65536)
            except OSError:
                return self.shown
            if not piece:
                return self.shown
            self.shown += piece.decode(errors="replace")
        return self.shown

    def close(self):
        os.close(self.file)
        os.waitpid(self.pid, 0)


class Completion(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.work = os.path.join(cls.folder.name, "work")
        os.makedirs(os.path.join(cls.work, "folder"))
        for name in ("net.onnx", "net two.onnx", "net.lathe", "list.csv", "text.txt"):
            open(os.path.join(cls.work, name), "w").close()
        cls.verbs = cls.helped("--help")
        cls.commands = []
        for verb in cls.verbs:
            subs = cls.helped(verb, "--help") if "Verbs:" in cls.text(verb, "--help") else []
            cls.commands += [(verb, sub) for sub in subs] or [(verb,)]

    @staticmethod
    @functools.cache
    def text(*arguments):
        return subprocess.run([LATHE, *arguments], capture_output=True, text=True, check=True).stdout

    @classmethod
    def helped(cls, *arguments):
        """The verbs that a help lists."""
        return re.findall(r"^  ([a-z-]+) {2,}", cls.text(*arguments).split("Verbs:")[1].split("\n\n")[0], re.M)

    def bash(self, *lines):
        """What bash offers for each line."""
        done = subprocess.run(["bash", "--norc", "--noprofile", "-c", BASH_DRIVER, "bash", SCRIPTS["bash"]], input="".join(line + "\n" for line in lines),
                              capture_output=True, text=True, cwd=self.work, env={**os.environ, "PATH": os.path.dirname(LATHE) + ":/usr/bin:/bin"})
        self.assertEqual(done.stderr, "")
        return [sorted(word for word in line.split("\t") if word) for line in done.stdout.split("\n")[:-1]]

    def zsh(self, *lines):
        """What zsh offers for each line, without the sign behind flags that take a value."""
        if shutil.which("zsh") is None:
            self.skipTest("SKIPPED: zsh is not installed (make setup-bench)")
        capture, setup = self.path("capture"), self.path("setup.zsh")
        with open(setup, "w") as file:
            file.write(ZSH_SETUP)
        if os.path.exists(capture):
            os.remove(capture)
        shell = Terminal("zsh", "-f", "-i", env={"CAPTURE": capture, "COMPLETIONS": os.path.dirname(SCRIPTS["zsh"]), "HOME": self.folder.name,
                                                 "PATH": os.path.dirname(LATHE) + ":/usr/bin:/bin"})

        def captured():
            shell.read()
            return contents(capture).split("\n")[:-1] if os.path.exists(capture) else []

        try:
            shell.send(f"cd {self.work}; source {setup}\n")
            wait_for(lambda: captured() == ["ready"], lambda: f"zsh starts: {shell.read()}")
            for count, line in enumerate(lines, 2):
                shell.send(line + "\x18")
                wait_for(lambda: len(captured()) == count, lambda: f"zsh completes '{line}': {shell.read()[-500:]}")
            return [sorted({word for word in line.split("\t") if word}) for line in captured()[1:]]
        finally:
            shell.close()

    def flags(self, *command):
        """The flags of a verb in its help, and of those that take words their words."""
        flags, words, last = set(), {}, []
        for line in self.text(*command, "--help").split("\n"):
            if match := re.match(r"  (-[\w,-]+)( .*)?$", line):
                last = match[1].split(",")
                flags |= set(last)
            if (match := re.match(r"(?:  -\S+|) [^ ]*\w+:\{([^}]*)\}", line)) and last:
                words[last[-1]] = match[1].split(",")
        return flags, words

    def offers_everything(self, complete):
        lines, wanted = ["lathe "], [{*self.verbs, "help"}]
        for command in self.commands:
            flags, words = self.flags(*command)
            self.assertIn("--help", flags)
            lines.append(f"lathe {' '.join(command)} -")
            wanted.append(flags)
            for flag, values in words.items():
                lines.append(f"lathe {' '.join(command)} {flag} ")
                wanted.append(set(values))
        for group in {command[0] for command in self.commands if len(command) > 1}:
            lines.append(f"lathe {group} ")
            wanted.append({command[1] for command in self.commands if command[0] == group})
        self.assertGreater(len(lines), 100)
        for line, offered, expected in zip(lines, complete(*lines), wanted, strict=True):
            self.assertLessEqual(expected, {word.rstrip("=") for word in offered}, line)
            foreign = {word.rstrip("=") for word in offered} - expected - {"--help", "--version"}
            self.assertEqual(foreign, set(), line)

    def test_bash_offers_every_verb_flag_and_value(self):
        self.offers_everything(self.bash)

    def test_zsh_offers_every_verb_flag_and_value(self):
        self.offers_everything(self.zsh)

    def test_every_offered_word_is_in_the_help_or_a_table(self):
        for command in self.commands:
            record = json.loads(self.text(*command, "--describe"))
            self.assertEqual(record["command"], " ".join(("lathe", *command)))
            for option in record["options"]:
                for word in option["values"]:
                    place = option["help"] + " " + option["type"]
                    if option["names"] not in (["--provider"], ["--suite"]) and option["positional"] != "NAME" and not word.isdigit():
                        self.assertRegex(place, rf"(?<![\w-]){re.escape(word)}(?![\w-])", (command, option["names"]))

    # Each: a line, and what both shells offer.
    VALUES = [
        ("lathe compile --layout n", ["nchw", "nhwc"]),
        ("lathe compile -O ", ["0", "1", "2", "3", "4"]),
        ("lathe compile --threads ", []),
        ("lathe ops bench --provider lathe,one", ["lathe,onednn"]),
        ("lathe store trend --provider one", ["onednn"]),
        ("lathe ops bench --suite networks/resnet50,networks/squ", ["networks/resnet50,networks/squeezenet"]),
        ("lathe ops bench --cache hot,", ["hot,cold", "hot,cold-constants"]),
        ("lathe ops problems --csv li", ["list.csv"]),
        ("lathe help ops a", ["analyze"]),
        ("lathe help schedules wino", ["winograd"]),
        ("lathe completion z", ["zsh"]),
        ("lathe zoo resnet1", ["resnet101", "resnet152", "resnet18"]),
        ("lathe nonsense ", []),
    ]

    def test_bash_offers_values(self):
        for (line, expected), offered in zip(self.VALUES, self.bash(*(line for line, _ in self.VALUES)), strict=True):
            self.assertEqual(offered, expected, line)

    def test_zsh_offers_values(self):
        for (line, expected), offered in zip(self.VALUES, self.zsh(*(line for line, _ in self.VALUES)), strict=True):
            start = line.rsplit(",", 1)[0] + "," if "," in line.split()[-1] else ""
            prefix = start.split()[-1] if start else ""
            self.assertEqual([prefix + word.removeprefix(prefix) for word in offered], expected, line)

    def test_bash_completes_models_and_what_follows_signs(self):
        models = ["folder", "net two.onnx", "net.onnx"]
        lines = {"lathe compile ": sorted(models + ["zoo:"]), "lathe run n": ["net two.onnx", "net.lathe", "net.onnx"],
                 "lathe compile zo": ["zoo:"], "lathe compile zoo:resnet1": ["resnet101", "resnet152", "resnet18"],
                 "lathe compile --layout=nh": ["nhwc"], "lathe compile --layout=": ["auto", "blocked", "nchw", "nhwc"],
                 "lathe compile -o x.lathe ne": ["net two.onnx", "net.onnx"], "lathe zoo x -o ": ["folder", "net two.onnx", "net.onnx"]}
        for (line, expected), offered in zip(lines.items(), self.bash(*lines), strict=True):
            self.assertEqual(offered, expected, line)

    def test_zsh_completes_models(self):
        lines = {"lathe compile ne": ["net two.onnx", "net.onnx"], "lathe run net": ["net two.onnx", "net.lathe", "net.onnx"],
                 "lathe compile zo": ["zoo:"], "lathe compile zoo:resnet1": ["resnet101", "resnet152", "resnet18"],
                 "lathe compile --layout=nh": ["nhwc"]}
        for (line, expected), offered in zip(lines.items(), self.zsh(*lines), strict=True):
            self.assertEqual(sorted({word.replace("\\ ", " ") for word in offered}), expected, line)

    def test_experiments_complete_from_the_store(self):
        store = self.path("completed.db")
        self.lathe("bench", self.net, "--repetitions", "2", "--store", store)
        [experiment] = json.loads(self.lathe("store", "list", "--store", store, "--json", "-").stdout)["experiments"]
        start = experiment["uuid"][:8]
        lines = {f"lathe store show --store {store} ": [start], f"lathe report --store {store} --experiment {start[:2]}": [start],
                 "lathe store show --store nothing.db ": [], f"lathe ops diff --store {store} {start[:3]}": [start]}
        for complete in (self.bash, self.zsh):
            for (line, expected), offered in zip(lines.items(), complete(*lines), strict=True):
                self.assertEqual(offered, expected, (complete.__name__, line))

    def test_an_interactive_bash_completes(self):
        shell = Terminal("bash", "--norc", "--noprofile", "-i", env={"PS1": "ready> ", "INPUTRC": "/dev/null"})
        try:
            shell.send("bind 'set enable-bracketed-paste off'\n" + f'eval "$({LATHE} completion bash)"; cd {self.work}; echo be"gun"\n')
            wait_for(lambda: "begun" in shell.read(), lambda: "bash starts")
            for typed, expected in [("lathe compile --emi\tgr\t", "--emit graph "), ("lathe compile zoo:densenet12\t", "zoo:densenet121 "),
                                    ("lathe compile --layout=blo\t", "--layout=blocked "), ("lathe inspect net\\ t\t", "net\\ two.onnx ")]:
                begin = len(shell.read())
                shell.send(typed)
                wait_for(lambda: expected in shell.read()[begin:], lambda: f"{typed!r}: {shell.shown[begin:]!r}", 30)
                shell.send("\x15")  # deletes the line
        finally:
            shell.close()

    def test_the_verb_prints_the_installed_script(self):
        for shell, path in SCRIPTS.items():
            self.assertEqual(self.lathe("completion", shell).stdout, contents(path))
        self.error("completion", "fish", says="SHELL: fish not in {bash,zsh}")


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    main()
