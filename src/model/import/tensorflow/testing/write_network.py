"""Writes a network as a frozen graph of TensorFlow.

usage: write_network.py NETWORK FILE.pb

NETWORK is resnet50, mobilenet_v2 or inception_v3 (with the weights of the Keras files), ocr or detection.
"""
import sys

import detection
import frozen_keras
import ocr

OTHERS = {"ocr": ocr.ocr, "detection": detection.detection}

if __name__ == "__main__":
    network, path = sys.argv[1:]
    graph = OTHERS[network]() if network in OTHERS else frozen_keras.frozen(network)
    graph.write(path)
