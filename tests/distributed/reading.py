"""What the tests of all sources read with."""

from __future__ import annotations

import numpy as np

from orthoboot.distributed.selection import source_of


def joined(part, blocks):
    """The number of a part and its rows, one array for each table."""
    found = [tuple(np.array(array) for array in block) for block in blocks]
    return part, [np.concatenate(arrays) for arrays in zip(*found, strict=True)]


def all_rows(source):
    """All rows of a source, one array for each table, after a check that the parts came in their order."""
    parts, tables = zip(*source.each(joined), strict=True)
    assert list(parts) == list(range(source.n_parts))
    return [np.concatenate(arrays) for arrays in zip(*tables, strict=True)]


def source(*containers):
    """The source of one sample."""
    labels = ["data"] if len(containers) == 1 else [f"data[{i}]" for i in range(len(containers))]
    found = source_of(containers, labels)
    assert found is not None
    return found
