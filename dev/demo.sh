#!/bin/sh
# usage: dev/demo.sh PATH-TO-LATHE
# The main job on a built-in network: what is in it, is the compiled form right, where does the time go, how does it compare.
set -eu
lathe=$1
network=${NETWORK:-resnet50}
work=$(dirname "$lathe")/../demo
mkdir -p "$work"
export LATHE_NO_RECORDS=1 # the same on every machine

say() { printf '\n\033[1m$ lathe %s\033[0m\n' "$*"; }
step() { say "$@"; "$lathe" "$@"; }

step zoo "$network" -o "$work/$network.onnx"
step inspect "$work/$network.onnx"
step compile "$work/$network.onnx" -o "$work/$network.lathe"
step verify "$work/$network.onnx"
step profile "$work/$network.lathe"
if [ -d "$(dirname "$0")/../lab/runners/onnxruntime/node_modules/onnxruntime-node" ]; then
  step compare "$work/$network.onnx" --with onnxruntime
else
  printf '\nONNX Runtime is not installed: "make peers" adds the comparison.\n'
fi
