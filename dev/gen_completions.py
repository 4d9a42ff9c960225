#!/usr/bin/env python3
"""Writes the completions of bash and zsh from what `lathe` says of its verbs and options.

usage: gen_completions.py LATHE SHARE

Writes SHARE/bash-completion/completions/lathe and SHARE/zsh/vendor-completions/_lathe. The functions that do not depend on
the options are in dev/completions/.
"""
import os
import sys

import cli_description

NOTE = "Written by dev/gen_completions.py from `lathe VERB --describe`; do not edit."
HERE = os.path.dirname(os.path.abspath(__file__))


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash_specification(option):
    """The text that `_lathe_offer` reads: kinds separated by ";"."""
    return "; ".join(" ".join(kind) for kind in option.kind())


def bash_cases(program):
    """Cases of "VERB FLAG" and "VERB NUMBER" that share a specification, one line each."""
    keys = {}
    for command in program.leaves():
        for option in command.flags:
            if option.takes_value:
                for name in option.names:
                    keys.setdefault(bash_specification(option), []).append(f"{command.name} {name}")
        for number, option in enumerate(command.positionals):
            place = "*" if option.repeats else str(number)
            keys.setdefault(bash_specification(option), []).append(f"{command.name} #{place}")
    return "".join(f"  {'|'.join(quoted(key) for key in found)}) specification={quoted(text)} ;;\n"
                   for text, found in sorted(keys.items()))


def bash(program):
    verbs = " ".join(name for name, _ in program.verbs)
    groups = "".join(f"  {group.name}) offered='{' '.join(name for name, _ in group.verbs)}' ;;\n" for group in program.groups())
    flags = {}
    for command in program.leaves():
        flags.setdefault(" ".join(name for option in command.flags for name in option.names), []).append(command.name)
    flag_cases = "".join(f"  {'|'.join(quoted(name) for name in names)}) offered='{text}' ;;\n" for text, names in flags.items())
    return f"""# Completes commands of lathe in bash. {NOTE}

_lathe_verbs='{verbs}'
_lathe_networks='{' '.join('zoo:' + name for name in program.networks)}'
_lathe_algorithms='{' '.join(program.algorithms)}'

# $1: a group of verbs. Sets `offered` to its verbs.
_lathe_group() {{
  case $1 in
{groups}  *) offered= ;;
  esac
}}

# $1: a verb. Sets `offered` to its flags.
_lathe_flags() {{
  case $1 in
{flag_cases}  *) offered= ;;
  esac
}}

# $1: a verb and a flag, or a verb and "#" with the number of a positional argument. Sets `specification` to the kinds of
# values; empty: there is none.
_lathe_specification() {{
  case $1 in
{bash_cases(program)}  *) specification= ;;
  esac
}}

{open(os.path.join(HERE, "completions", "lathe.bash"), encoding="utf-8").read()}"""


def zsh_text(text):
    """A description inside [...]: one line."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def zsh_action(option):
    kinds, actions = option.kind(), []
    for kind, *words in kinds:
        escaped = " ".join(quoted(word) for word in words)
        actions.append({"words": f"_lathe_words {escaped}", "list": f"_lathe_list {escaped}",
                        "files": "_files" + (f" -g {quoted('*.(' + '|'.join(words) + ')(-.)')}" if words else ""),
                        "folder": "_files", "model": f"_lathe_model {escaped}", "experiment": "_lathe_experiment", "none": ""}[kind])
    if len(actions) == 1:
        return " " + actions[0]  # the space: the action gets no other arguments than its own
    return " _lathe_several " + " ".join(quoted(action) for action in actions)


def zsh_specifications(command):
    for option in command.flags:
        text = zsh_text(option.help)
        value = f":{option.word.replace(':', chr(92) + ':')}:{zsh_action(option)}" if option.takes_value else ""
        shut_out = " ".join([*([] if option.repeats else option.names), *(name for name in option.excludes if name.startswith("-"))])
        for name in option.names:
            prefix = "*" if option.repeats else f"({shut_out})" if shut_out else ""
            suffix = "" if not option.takes_value else "=" if name.startswith("--") else "+"
            yield quoted(f"{prefix}{name}{suffix}[{text}]{value}")
    for number, option in enumerate(command.positionals, 1):
        place = "*:" if option.repeats else f"{number}:" if option.required else f"{number}::"
        yield quoted(f"{place}{option.positional}:{zsh_action(option)}")


def zsh_verbs(verbs):
    return " ".join(quoted(f"{name}:{' '.join(summary.split())}") for name, summary in verbs)


def zsh(program):
    functions = "".join(f"_lathe_{command.name.replace(' ', '_').replace('-', '_')}() {{\n  _arguments -S : \\\n    "
                        + " \\\n    ".join(zsh_specifications(command)) + "\n}\n\n" for command in program.leaves())
    groups = "".join(f"  {group.name}) verbs=({zsh_verbs(group.verbs)}) ;;\n" for group in program.groups())
    return f"""#compdef lathe
# Completes commands of lathe in zsh. {NOTE}

typeset -ga _lathe_networks _lathe_algorithms _lathe_top
_lathe_networks=({' '.join('zoo:' + name for name in program.networks)})
_lathe_algorithms=({' '.join(program.algorithms)})
_lathe_top=({zsh_verbs(program.verbs)} {quoted("help:Explain a verb, or the algorithms of schedules")})

# $1: a group of verbs. Sets `verbs`.
_lathe_group() {{
  case $1 in
{groups}  *) verbs=() ;;
  esac
}}

{functions}{open(os.path.join(HERE, "completions", "lathe.zsh"), encoding="utf-8").read()}"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program = cli_description.Program(sys.argv[1])
    cli_description.write(os.path.join(sys.argv[2], "bash-completion", "completions", "lathe"), bash(program))
    cli_description.write(os.path.join(sys.argv[2], "zsh", "vendor-completions", "_lathe"), zsh(program))


if __name__ == "__main__":
    main()
