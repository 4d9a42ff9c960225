#!/bin/bash
# Installs the libraries of the runtimes that lathe compares with, each beside its runner: pinned by lock files, without
# running install scripts. npm only fetches them: ONNX Runtime's runner is a native program and needs no Node.js;
# the runners of TensorFlow Lite and TensorFlow.js are scripts under it.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
  echo "dev/peers.sh: npm is missing: install nodejs and npm (dev/setup.sh does)" >&2
  exit 1
fi
for runner in onnxruntime tflite tensorflowjs; do
  (cd src/laboratory/lab/runners/$runner && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
done
# Of what it unpacks only the library is used: not the addon for Node.js, and nothing for other systems.
found=
for library in src/laboratory/lab/runners/onnxruntime/node_modules/onnxruntime-node/bin/napi-v*/linux/*/libonnxruntime.so.1; do
  if [ -f "$library" ]; then found=$library; fi
done
if [ -z "$found" ]; then
  echo "dev/peers.sh: onnxruntime-node has no bin/napi-v*/linux/*/libonnxruntime.so.1: it is another package than package-lock.json pins" >&2
  exit 1
fi
rm -rf src/laboratory/lab/runners/onnxruntime/node_modules/onnxruntime-node/bin/napi-v*/{darwin,win32}
# Of this one the modules without threads, which Node.js runs.
rm -rf src/laboratory/lab/runners/tflite/node_modules/@tensorflow/tfjs-tflite/dist src/laboratory/lab/runners/tflite/node_modules/@tensorflow/tfjs-tflite/wasm/*threaded*
# Of these the modules for Node.js, and WebAssembly without threads.
modules=src/laboratory/lab/runners/tensorflowjs/node_modules/@tensorflow
find $modules/*/dist -type f ! -name 'tf-*.node.js' ! -name 'tfjs-backend-wasm.wasm' ! -name 'tfjs-backend-wasm-simd.wasm' -delete
find $modules/*/dist -type d -empty -delete
rm -rf $modules/tfjs-backend-wasm/wasm-out $modules/*/src $modules/*/demo
for package in onnxruntime/node_modules/onnxruntime-node tflite/node_modules/@tensorflow/tfjs-tflite \
  tensorflowjs/node_modules/@tensorflow/tfjs-core; do
  echo "$(basename $package) $(sed -n 's/^ *"version": "\(.*\)",*$/\1/p' src/laboratory/lab/runners/$package/package.json) is ready"
done
