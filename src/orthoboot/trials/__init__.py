"""Trials of the user's function on other rows or labels, which show what it takes for granted."""

from orthoboot.trials.group_values import group_values_finding
from orthoboot.trials.merged_groups import merged_groups_finding
from orthoboot.trials.repeated_labels import repeated_labels_finding
from orthoboot.trials.row_order import row_order_finding
from orthoboot.trials.unweighted_parts import unweighted_parts_finding

__all__ = [
    "group_values_finding",
    "merged_groups_finding",
    "repeated_labels_finding",
    "row_order_finding",
    "unweighted_parts_finding",
]
