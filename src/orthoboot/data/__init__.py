"""Arrays, lists, series and data frames become samples with rows."""

from orthoboot.data.samples import Data, read
from orthoboot.data.tables import Table

__all__ = ["Data", "Table", "read"]
