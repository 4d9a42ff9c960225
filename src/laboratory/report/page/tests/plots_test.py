#!/usr/bin/env python3
"""Runs plots.mjs."""
import node_tests

node_tests.run("plots.mjs", 14)
