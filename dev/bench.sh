#!/bin/sh
# usage: dev/bench.sh PATH-TO-LATHE [NETWORK...]
# Speed beside ONNX Runtime, network by network, as ratios measured side by side. A NETWORK is a name of `lathe zoo --list`, or
# torch:NAME for a torchvision architecture as PyTorch exports it (cached in build/bench/models). THREADS (1) and
# OPTIONS are handed on to `lathe compare`; the raw samples stay in build/bench/compare.
set -eu
lathe=$1
shift
here=$(dirname "$0")
if [ $# -eq 0 ]; then
  known=$("$lathe" zoo --list)
  for network in alexnet vgg16 resnet18 resnet50 densenet121 googlenet inception_v2 inception_v3 squeezenet mobilenet_v1 mobilenet_v2 \
    mobilenet_v3 efficientnet_b0 shufflenet_v2 unet vit_b_16 lstm bert_base gpt2_small; do
    ! echo "$known" | grep -q "^$network " || set -- "$@" "$network"
  done
  for network in $("$here/../bench/torch_models.py" --list); do
    set -- "$@" "torch:$network"
  done
fi
threads=${THREADS:-1}
work=$here/../build/bench/compare
mkdir -p "$work"
rm -f "$work"/*.json "$work"/*.txt
for network; do
  echo "== $network" >&2
  result=$work/$(echo "$network" | tr : -)
  case $network in
  torch:*)
    model=$("$here/../bench/torch_models.py" "${network#torch:}" 2>"$result.txt") || {
      cat "$result.txt" >&2
      continue
    }
    ;;
  *) model=zoo:$network ;;
  esac
  # A network that fails is a row of the table, not the end of the run.
  # shellcheck disable=SC2086 # a list of words
  "$lathe" compare "$model" --with onnxruntime --threads "$threads" ${OPTIONS:-} --json "$result.json" > "$result.txt" 2>&1 ||
    tail -n 1 "$result.txt" >&2
done
exec /usr/bin/python3 "$here/bench_table.py" "$work" "$@"
