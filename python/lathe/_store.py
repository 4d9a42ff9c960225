"""Measurements of a store as frames."""
from __future__ import annotations

import os
import tempfile
from typing import Any

from lathe import verbs
from lathe.results import frame_of, pandas
from lathe.verbs._process import Path, Texts

_SERVERS = ("postgresql://", "postgres://")


class Store:
    """A store of measurements (docs/store.md).

    path: its file, or the URL of a server, postgresql://HOST/DATABASE; None: the default, ~/.local/share/lathe/lathe.db. The
    attribute has a URL without its password.
    """

    def __init__(self, path: Path | None = None) -> None:
        place = None if path is None else os.fspath(path)
        if place is not None and not place.startswith(_SERVERS):
            self.path = self._place = os.path.abspath(place)
        else:
            self.path = verbs.store.path(store=place).text.strip()
            self._place = place or self.path

    def __repr__(self) -> str:
        return f"Store({self.path!r})"

    def _table(self, samples: bool, experiment: Texts | None, kind: str | None, operator: str | None, provider: str | None) -> Any:
        read = pandas().read_csv
        types = {"text": "str", "integer": "int64", "optional integer": "Int64", "number": "float64"}
        with tempfile.TemporaryDirectory(prefix="lathe-python-") as folder:
            path = os.path.join(folder, "table.csv")
            columns = verbs.store.export(path, format="csv", samples=samples, store=self._place, experiment=experiment, kind=kind, operator=operator,
                                         provider=provider)["columns"]
            # An empty cell is an empty text, and no number; a problem that is called NaN is a text.
            return read(path, dtype={column.name: types[column.type] for column in columns}, keep_default_na=False,
                        na_values={column.name: ["", "nan"] for column in columns if column.type != "text"})

    def samples(self, experiment: Texts | None = None, kind: str | None = None, operator: str | None = None, provider: str | None = None) -> Any:
        """Every timed repetition, a row each, as a frame of pandas. The arguments are the filters of `lathe store export`."""
        return self._table(True, experiment, kind, operator, provider)

    def points(self, experiment: Texts | None = None, kind: str | None = None, operator: str | None = None, provider: str | None = None) -> Any:
        """Every measured point, a row each, as a frame of pandas. The arguments are the filters of `lathe store export`."""
        return self._table(False, experiment, kind, operator, provider)

    def experiments(self, kind: str | None = None) -> Any:
        """The experiments, the latest last, as a frame of pandas."""
        return verbs.store.list(store=self._place, kind=kind).frame()

    def records(self) -> Any:
        """The tuning records, by task, the fastest first, as a frame of pandas."""
        return frame_of(verbs.records.list(store=self._place).records)
