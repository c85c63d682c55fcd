"""Files of rows as data frames, whatever their format."""

from __future__ import annotations

import difflib
import gzip
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from orthoboot.errors import ArgumentError, DataError, MissingDependencyError, first_line
from orthoboot.warning_scopes import recorded

if TYPE_CHECKING:
    import pandas as pd

STANDARD_INPUT = "-"

_FORMATS = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".json": "JSON lines",
}
_SEPARATORS = ",\t;"
_LISTED = "CSV (.csv), TSV (.tsv), Parquet (.parquet), Feather (.feather) or JSON lines (.jsonl)"


@dataclass(frozen=True)
class Table:
    """The rows of a file.

    Attributes
    ----------
    frame
        Its columns; the index is the number of the row, from zero.
    name
        What messages call the file.
    """

    frame: pd.DataFrame
    name: str


def read_table(path: str, *, least: int = 2) -> Table:
    """Return the rows of a file, or of standard input for ``-``; raise if there are fewer than `least`."""
    name = "standard input" if path == STANDARD_INPUT else path
    kind = "bytes" if path == STANDARD_INPUT else format_of(path)
    _check_pandas()
    try:
        frame = _READERS[kind](path)
    except (ValueError, ArithmeticError, EOFError) as error:  # those of pandas and pyarrow derive from ValueError
        if isinstance(error, (ArgumentError, DataError)):
            raise
        raise _unreadable(name, error) from error
    _check_rows(frame, name, least)
    return Table(frame.reset_index(drop=True).rename(columns=str), name)


def format_of(path: str) -> str:
    """Return the format of an existing file by its name."""
    file = Path(path)
    if not file.is_file():
        raise ArgumentError(_no_such_file(file))
    suffix = Path(file.stem).suffix if file.suffix == ".gz" else file.suffix
    if suffix.lower() not in _FORMATS:
        raise ArgumentError(f"FILE must be {_LISTED}, by the extension of its name; got {path!r}.")
    return _FORMATS[suffix.lower()]


def _no_such_file(file: Path) -> str:
    if file.is_dir():
        return f"FILE must be a file; {str(file)!r} is a folder."
    if not file.parent.is_dir():
        return f"FILE must exist; there is no folder {str(file.parent)!r}."
    close = difflib.get_close_matches(file.name, [one.name for one in file.parent.iterdir()], n=3, cutoff=0.75)
    hint = f" Did you mean {' or '.join(repr(str(file.with_name(one))) for one in close)}?" if close else ""
    return f"FILE must exist; there is no {str(file)!r}.{hint}"


def _check_pandas() -> None:
    try:
        import pandas as pd  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            'files are read by pandas; install it with `pip install "orthoboot[cli]"`.'
        ) from error


def _check_rows(frame: pd.DataFrame, name: str, least: int) -> None:
    if len(frame) == 0:
        raise DataError(f"{name} has a header, but no rows.")
    if len(frame) < least:
        raise DataError(f"{name} has one row; a bootstrap needs two or more.")


def _unreadable(name: str, error: Exception) -> DataError:
    if type(error).__name__ == "EmptyDataError":
        return DataError(f"{name} is empty; the first line must hold the names of the columns.")
    if isinstance(error, UnicodeDecodeError):
        return DataError(f"{name} is not text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8.")
    return DataError(f"{name} cannot be read: {first_line(error)}.")


# One reader for each format


def _opened(path: str) -> IO[bytes]:
    return gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _read_text(path: str) -> pd.DataFrame:
    with _opened(path) as stream:
        return _text_frame(stream)


def _text_frame(stream: IO[bytes]) -> pd.DataFrame:
    import pandas as pd

    start = stream.tell()
    header = stream.readline().decode("utf-8-sig")
    stream.seek(start)
    separator = max(_SEPARATORS, key=header.count)
    with recorded() as caught:
        frame = pd.read_csv(stream, sep=separator, encoding="utf-8-sig", skipinitialspace=True, index_col=False)
    if any(issubclass(warning.category, pd.errors.ParserWarning) for warning in caught):
        raise DataError(f"every line must have as many cells as the header, which has {frame.shape[1]}; got more.")
    return frame


def _read_parquet(path: str) -> pd.DataFrame:
    return _arrow_frame("parquet", lambda module: module.read_table(path))


def _read_feather(path: str) -> pd.DataFrame:
    return _arrow_frame("feather", lambda module: module.read_table(path))


def _arrow_frame(module: str, read: Callable[[Any], Any]) -> pd.DataFrame:
    from importlib import import_module

    try:
        library = import_module(f"pyarrow.{module}")
    except ImportError as error:
        raise MissingDependencyError(
            'Parquet and Feather files are read by pyarrow; install it with `pip install "orthoboot[cli]"`.'
        ) from error
    frame: pd.DataFrame = read(library).to_pandas()
    return frame


def _read_json(path: str) -> pd.DataFrame:
    with _opened(path) as stream:
        return _json_frame(stream.read())


def _json_frame(content: bytes) -> pd.DataFrame:
    import pandas as pd

    if not content.strip():
        raise pd.errors.EmptyDataError
    return pd.read_json(io.BytesIO(content), lines=not content.lstrip().startswith(b"["))


def _read_standard_input(path: str) -> pd.DataFrame:
    """Return the rows of standard input, whose format is told by how it begins."""
    content = sys.stdin.buffer.read()
    stream = io.BytesIO(content)
    if content.startswith(b"PAR1"):
        return _arrow_frame("parquet", lambda module: module.read_table(stream))
    if content.startswith((b"ARROW1", b"FEA1")):
        return _arrow_frame("feather", lambda module: module.read_table(stream))
    return _json_frame(content) if content.lstrip().startswith((b"{", b"[")) else _text_frame(stream)


_READERS: dict[str, Callable[[str], pd.DataFrame]] = {
    "text": _read_text,
    "Parquet": _read_parquet,
    "Feather": _read_feather,
    "JSON lines": _read_json,
    "bytes": _read_standard_input,
}
