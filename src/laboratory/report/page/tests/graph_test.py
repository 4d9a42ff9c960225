#!/usr/bin/env python3
"""Runs graph.mjs."""
import node_tests

node_tests.run("graph.mjs", 8)
