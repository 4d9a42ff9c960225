"""The name that lathe.builder had before: staged models import it."""
from lathe.builder import Error, Graph, Value, main

__all__ = ["Error", "Graph", "Value", "main"]
