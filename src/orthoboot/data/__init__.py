"""Arrays, lists, series and data frames become samples with rows."""

from orthoboot.data.group_column import GroupColumn
from orthoboot.data.group_labels import named_groups, named_strata, unnamed_group_columns
from orthoboot.data.samples import Data, read
from orthoboot.data.tables import InputTable, check_unmasked, numpy_copy

__all__ = [
    "Data",
    "GroupColumn",
    "InputTable",
    "check_unmasked",
    "named_groups",
    "named_strata",
    "numpy_copy",
    "read",
    "unnamed_group_columns",
]
