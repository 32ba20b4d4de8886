#!/usr/bin/env bash
# Installs pare, moves the tree, and there runs the program, builds a user of the library and loads the Python module: install.sh CMAKE BUILD_FOLDER PYTHON
set -euo pipefail
cmake=$1 build=$2 python=$3 here="$(cd "$(dirname "$0")" && pwd)"
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
"$cmake" --install "$build" --prefix "$tmp/first" >/dev/null
mv "$tmp/first" "$tmp/moved"
cd "$tmp"
moved/bin/pare --version
"$cmake" -S "$here/consumer" -B consumer -DCMAKE_PREFIX_PATH="$tmp/moved" -DCMAKE_BUILD_TYPE=Release >/dev/null
"$cmake" --build consumer >/dev/null
said="$(consumer/consumer)"
echo "$said"
[ "$said" = "nowhere.onnx: no such file" ]
module="$(find moved -name pare_calibration.py)"
said="$(cd "$(dirname "$module")" && env -u PARE_LIBRARY "$python" -B -c "
import pare_calibration
try:
    pare_calibration.calibrate('nowhere.onnx', [], '/tmp/never.stats')
except pare_calibration.PareError as e:
    print(e)")"
echo "$said"
[ "$said" = "nowhere.onnx: no such file" ]
mapfile -t files < <(find moved -name 'libpare.so' -o -name pare -path '*/bin/*')
astray="$(ldd "${files[@]}" | grep -E 'not found|/build|\.cache' || true)"
[ -z "$astray" ] || { echo "the installed tree looks for libraries elsewhere:"; echo "$astray"; exit 1; }
