"""Runs one .case file (format: README.md beside this) and says how its output differs. Exit code 77: skipped."""

import argparse
import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
BUILDERS = Path(__file__).resolve().parent.parent / "models"


class Skip(Exception):
    pass


class Command:
    def __init__(self, line):
        self.line, self.exit, self.output, self.files, self.folder = line, 0, [], [], None


def parse(path):
    requires, setup, commands = [], [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        command = commands[-1] if commands else None
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith("$ "):
            commands.append(Command(line[2:]))
        elif command and line.startswith("exit: "):
            command.exit = int(line[6:])
        elif command and line.startswith("file: "):
            name, state = line[6:].rsplit(" ", 1)
            if state not in ("exists", "absent", "unchanged"):
                sys.exit(f"{path}:{number}: '{state}' is no state; known are exists, absent, unchanged")
            command.files.append((name, state))
        elif command and line.startswith("folder:"):
            command.folder = sorted(line[7:].split())
        elif command:
            command.output.append(line)
        elif line.startswith("requires: "):
            requires += line[10:].split()
        elif line.startswith("setup: "):
            setup.append(line[7:])
        else:
            sys.exit(f"{path}:{number}: before the first '$ ' only requires: and setup: may stand")
    if not commands:
        sys.exit(f"{path}: no command")
    return requires, setup, commands


def regex(expected):
    parts = re.split(r"\{\{(.*?)\}\}", expected)
    return re.compile("".join(f"(?:{p})" if i % 2 else re.escape(p) for i, p in enumerate(parts)))


def matches(expected, actual):
    """Whether the lines agree; '...' stands for any number of lines."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and bool(regex(expected[0]).fullmatch(actual[0])) and matches(expected[1:], actual[1:])


def difference(expected, actual):
    """A diff in which patterns and '...' stand as the lines that satisfy them."""
    shown, at, any_lines = [], 0, False
    for e in expected:
        if e == "...":
            any_lines = True
            continue
        found = next((i for i in range(at, len(actual)) if regex(e).fullmatch(actual[i])), None)
        if found is not None:
            shown += actual[at:found] if any_lines else []
            at, any_lines = found + 1, False
        shown.append(e if found is None else actual[found])
    shown += actual[at:] if any_lines else []
    return "\n".join(list(difflib.unified_diff(shown, actual, lineterm=""))[2:])


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def check(command, folder, environment, names):
    before = {name: digest(folder / name) for name, state in command.files if state == "unchanged"}
    ran = subprocess.run(["bash", "-c", command.line], cwd=folder, env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace")
    output = ran.stdout
    for name, path in names.items():
        output = output.replace(path, name)
    faults = []
    actual = output.splitlines()
    if ran.returncode != command.exit:
        faults.append(f"exit code {ran.returncode}, expected {command.exit}")
    if not matches(command.output, actual):
        faults.append("output (- expected, + printed):\n" + difference(command.output, actual))
    elif faults:
        faults.append("output:\n" + output)
    for name, state in command.files:
        path = folder / name
        if state == "unchanged" and digest(path) != before[name]:
            faults.append(f"{name} was changed")
        if state != "unchanged" and path.exists() != (state == "exists"):
            faults.append(f"{name} should be {'there' if state == 'exists' else 'absent'}")
    if command.folder is not None:
        found = sorted(p.name for p in folder.iterdir())
        if found != command.folder:
            faults.append(f"the folder holds {' '.join(found)}, expected {' '.join(command.folder)}")
    return faults


def mount_small(folder):
    """A file system of 16 kB as folder/full."""
    full = folder / "full"
    full.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(full)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip("no permission to mount a file system: " + done.stderr.strip())
    return full


def run(case, args):
    requires, setup, commands = parse(case)
    if "shared" in requires and not args.shared.is_dir():
        raise Skip(f"{args.shared} is not there")
    folder = Path(tempfile.mkdtemp(prefix="pare-case-")).resolve()
    full = None
    try:
        if "small-disk" in requires:
            full = mount_small(folder)
        names = {"$DIR": str(folder), "$MODELS": str(args.models), "$SHARED": str(args.shared)}
        environment = dict(os.environ, LC_ALL="C", TMPDIR=str(folder), PARE=str(args.pare), PYTHON=sys.executable,
                           BUILDERS=str(BUILDERS), PATH=f"{args.pare.parent}:{os.environ['PATH']}",
                           **{name[1:]: path for name, path in names.items()})
        for line in setup:
            subprocess.run(["bash", "-ec", line], cwd=folder, env=environment, check=True)
        for command in commands:
            faults = check(command, folder, environment, names)
            if faults:
                print(f"{case}\n$ {command.line}", *faults, sep="\n")
                return 1
        return 0
    finally:
        if full:
            subprocess.run(["umount", str(full)], check=True)
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", type=Path)
    parser.add_argument("--pare", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--shared", type=Path, required=True)
    args = parser.parse_args()
    try:
        return run(args.case, args)
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
