"""Make a plan from the user's options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

from orthoboot.data.labels_in_pieces import LabelsInPieces
from orthoboot.errors import ArgumentError
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
) -> Plan:
    """Return the plan that resamples each sample as the options say.

    Parameters
    ----------
    sizes
        Rows of each sample.
    strata, groups
        One label per row, to draw within strata or to draw whole groups; for several samples a tuple or list with one
        entry per sample, None for one that is drawn row by row.
    block_length
        Rows of a block, for rows in time order; one number, or for several samples also a tuple or list as above.
    block_kind
        "circular", "moving" or "stationary".

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
    make = _scheme_makers(block_kind)[given[0]]
    entries = _entries(options[given[0]], len(sizes), given[0])
    return Plan(tuple(Iid(n) if entry is None else make(n, entry) for n, entry in zip(sizes, entries, strict=True)))


def _scheme_makers(block_kind: str) -> dict[str, Callable[[int, Any], Scheme]]:
    return {
        "strata": _stratified,
        "groups": _cluster,
        "block_length": lambda n, length: BLOCK_KINDS[block_kind](n, length),
    }


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
    if isinstance(option, Integral) and argument == "block_length":
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
