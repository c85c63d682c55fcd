"""Make a plan from the user's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from orthoboot.data import Data
from orthoboot.data.labels_in_pieces import LabelsInPieces
from orthoboot.errors import ArgumentError
from orthoboot.plans.automatic_length import AUTOMATIC, automatic_length
from orthoboot.plans.base import Scheme
from orthoboot.plans.block import Blocks, CircularBlocks, MovingBlocks, StationaryBlocks
from orthoboot.plans.cluster import Cluster
from orthoboot.plans.cluster_in_pieces import ClusterInPieces
from orthoboot.plans.iid import Iid
from orthoboot.plans.labels import label_array
from orthoboot.plans.plan import Plan
from orthoboot.plans.strata.stratified import Stratified
from orthoboot.plans.strata.stratified_in_pieces import StratifiedInPieces

DEFAULT_BLOCK_KIND = CircularBlocks.kind

BLOCK_KINDS: Mapping[str, type[Blocks]] = {
    scheme.kind: scheme for scheme in (MovingBlocks, CircularBlocks, StationaryBlocks)
}


def plan_for(
    sizes: Sequence[int],
    *,
    strata: Any = None,
    groups: Any = None,
    block_length: Any = None,
    block_kind: str = DEFAULT_BLOCK_KIND,
    data: Data | None = None,
) -> Plan:
    """Return the resampling plan for the given options.

    Parameters
    ----------
    sizes
        The number of rows of each sample.
    strata, groups
        One label per row, to draw within strata or to draw whole groups; for several samples a tuple or list with one
        entry per sample, None for a sample that is drawn row by row.
    block_length
        The number of rows of a block, for rows in time order, or "auto" to estimate it from `data`; one for all
        samples, or a tuple or list as above.
    block_kind
        "circular", "moving" or "stationary".
    data
        The samples, for a `block_length` of "auto".

    Examples
    --------
    >>> plan_for([3, 4], strata=(None, ["a", "a", "b", "b"])).schemes
    (Iid(n=3), Stratified(n=4))
    """
    # A list cannot be looked up among the names.
    if not isinstance(block_kind, str) or block_kind not in BLOCK_KINDS:
        raise ArgumentError(f"`block_kind` must be one of {', '.join(map(repr, BLOCK_KINDS))}; got {block_kind!r}.")
    if block_length is None and block_kind != DEFAULT_BLOCK_KIND:
        raise ArgumentError(f"`block_kind` needs `block_length`, the rows of a block; got {block_kind!r} without one.")
    options = {"strata": strata, "groups": groups, "block_length": block_length}
    given = [argument for argument, option in options.items() if option is not None]
    if len(given) > 1:
        raise ArgumentError(
            "At most one of `strata`, `groups` and `block_length` can be given; got "
            + " and ".join(f"`{argument}`" for argument in given)
            + ". They are alternative ways to draw a resample."
        )
    if not given:
        return Plan(tuple(Iid(n) for n in sizes))
    entries = enumerate(zip(sizes, _entries(options[given[0]], len(sizes), given[0]), strict=True))
    if given == ["block_length"]:
        return Plan(tuple(_blocks(n, entry, block_kind, data, sample) for sample, (n, entry) in entries))
    make = {"strata": _stratified, "groups": _cluster}[given[0]]
    return Plan(tuple(Iid(n) if entry is None else make(n, entry) for _, (n, entry) in entries))


def _blocks(n: int, length: Any, block_kind: str, data: Data | None, sample: int) -> Scheme:
    """Return blocks of a length that is given or to be found from the data; rows where there is none."""
    if length is None:
        return Iid(n)
    scheme = BLOCK_KINDS[block_kind]
    if data is None or not _is_automatic(length):
        return scheme(n, length)
    return scheme(n, automatic_length(data, sample, block_kind), automatic=True)


def _is_automatic(length: Any) -> bool:
    # An array is equal to a text in no single way.
    return isinstance(length, str) and length == AUTOMATIC


def _stratified(n: int, labels: Any) -> Scheme:
    if isinstance(labels, LabelsInPieces):
        return StratifiedInPieces(labels)
    return Stratified(_one_label_per_row(labels, n, "strata"))


def _cluster(n: int, labels: Any) -> Scheme:
    if isinstance(labels, LabelsInPieces):
        return ClusterInPieces(labels)
    return Cluster(_one_label_per_row(labels, n, "groups"))


def _entries(option: Any, n_samples: int, argument: str) -> list[Any]:
    if n_samples == 1:
        return [option]
    if isinstance(option, (tuple, list)) and len(option) == n_samples:
        return list(option)
    if argument == "block_length" and (isinstance(option, Integral) or _is_automatic(option)):
        return [option] * n_samples
    length = f" of length {len(option)}" if hasattr(option, "__len__") else ""
    raise ArgumentError(
        f"`{argument}` must be a tuple or list with one entry per sample, here {n_samples} (None for a sample drawn "
        f"row by row); got {type(option).__name__}{length}."
    )


def _one_label_per_row(labels: Any, n: int, argument: str) -> Any:
    array = label_array(labels, argument)
    if array.size != n:
        raise ArgumentError(f"`{argument}` must have one label per row; got {array.size} labels for {n} rows.")
    return array
