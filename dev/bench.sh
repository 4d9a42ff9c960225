#!/bin/sh
# usage: dev/bench.sh PATH-TO-LATHE [NETWORK...]
# Speed beside ONNX Runtime, network by network, as ratios measured side by side. THREADS (1) and OPTIONS are handed on to
# `lathe compare`; the raw samples stay in build/bench.
set -eu
lathe=$1
shift
[ $# -gt 0 ] || set -- alexnet vgg16 resnet18 resnet50 densenet121 googlenet inception_v3 squeezenet mobilenet_v1 mobilenet_v2 \
  mobilenet_v3 shufflenet_v2
threads=${THREADS:-1}
work=$(dirname "$0")/../build/bench
mkdir -p "$work"
rm -f "$work"/*.json
for network; do
  echo "== $network" >&2
  # A network that fails is a row of the table, not the end of the run.
  # shellcheck disable=SC2086 # a list of words
  "$lathe" compare "zoo:$network" --with onnxruntime --threads "$threads" ${OPTIONS:-} --json "$work/$network.json" \
    > "$work/$network.txt" 2>&1 || tail -n 1 "$work/$network.txt" >&2
done
exec /usr/bin/python3 "$(dirname "$0")/bench_table.py" "$work" "$@"
