#!/usr/bin/env bash
# The library neither prints, nor ends the process, nor reads the environment, and shows no symbols of the libraries linked into it.
# symbols.sh NM LIBRARY OBJECT...
set -euo pipefail
nm=$1 library=$2
shift 2
[ $# -gt 0 ] || { echo "no object files given"; exit 1; }

forbidden='_?_?(printf|fprintf|vprintf|vfprintf|dprintf|puts|fputs|putchar|fputc|putc|perror|psignal)(_chk)?'
forbidden+='|exit|_exit|_Exit|quick_exit|abort|getenv|secure_getenv|setenv|putenv|environ|_ZSt(4cout|4cerr|4clog)'
bad=0
for object in "$@"; do
  found=$("$nm" --undefined-only --format=posix "$object" | awk '{print $1}' | grep -xE "$forbidden" || true)
  [ -z "$found" ] || { echo "$object calls" $found; bad=1; }
done
shown=$("$nm" --dynamic --defined-only --extern-only --format=posix "$library" | awk '{print $1}' | grep -vE '^(pare_[a-z_]+$|_Z(N|NK|NO|NR|T[VIS]N)4pare)' || true)
[ -z "$shown" ] || { echo "$library shows symbols that are not its own:"; head -n 20 <<<"$shown"; bad=1; }
exit $bad
