"""Arrays, lists, series and data frames become samples with rows."""

from orthoboot.data.samples import Data, read
from orthoboot.data.tables import InputTable

__all__ = ["Data", "InputTable", "read"]
