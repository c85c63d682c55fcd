"""Arrays, lists, series and data frames become samples with rows."""

from orthoboot.data.group_labels import named_groups, unnamed_group_column
from orthoboot.data.samples import Data, read
from orthoboot.data.tables import InputTable

__all__ = ["Data", "InputTable", "named_groups", "read", "unnamed_group_column"]
