"""Set two snapshots side by side: which numbers moved, by how much, and which words changed.

Plain Python on what a JSON file holds, so that it needs neither the library nor numpy. An entry is
``{"numbers": {field: [...]}, "texts": {field: text}, "warnings": [[class, text], ...]}``, or
``{"error": [class, text]}`` where the case raised.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]
Snapshot = Mapping[str, Any]

_SHARES = frozenset({"disagreement", "mean", "r_squared", "slope"})
"""Fields without a unit of measurement, whose natural size is one."""

_COUNTS = frozenset({"n_failed", "n_resamples"})
"""Fields that are exact or wrong."""


@dataclass(frozen=True)
class Difference:
    """How one entry of two snapshots differs.

    Attributes
    ----------
    name
        The entry.
    largest
        The largest relative difference of its numbers; infinite where they cannot be set side by side.
    place
        Where that is.
    same_bits
        Whether all its numbers are the same to the last bit.
    texts
        The lines by which its warnings and other texts differ, "-" before the old ones and "+" before the new.
    """

    name: str
    largest: float = 0.0
    place: str = ""
    same_bits: bool = True
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """How two snapshots differ.

    Attributes
    ----------
    differences
        One for each entry that both have.
    missing
        Entries that only the old snapshot has.
    new
        Entries that only the new one has.
    skipped
        What the new one left out for want of an optional package; such entries are not missing.
    unstable
        Entries whose bits differ from run to run of the old tree already.
    environment
        What differs between the environments, as lines.
    """

    differences: tuple[Difference, ...]
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()

    @property
    def different_bits(self) -> tuple[Difference, ...]:
        """Return the entries whose numbers are not the same bits, those farthest apart first."""
        found = [difference for difference in self.differences if not difference.same_bits]
        return tuple(sorted(found, key=lambda difference: -difference.largest))

    @property
    def different_texts(self) -> tuple[Difference, ...]:
        """Return the entries whose warnings or other texts differ."""
        return tuple(difference for difference in self.differences if difference.texts)

    def beyond(self, tolerance: float) -> tuple[Difference, ...]:
        """Return the entries whose numbers differ by more than `tolerance`."""
        return tuple(difference for difference in self.different_bits if difference.largest > tolerance)

    def passes(self, tolerance: float, *, strict: bool = False) -> bool:
        """Return whether all old entries are there and within `tolerance`; if `strict`, with the same texts too."""
        return not (self.beyond(tolerance) or self.missing or (strict and self.different_texts))

    def report(self, tolerance: float, *, every: bool = False) -> str:
        """Return all of it in words; if `every`, with a line for entries that are the same too."""
        beyond = self.beyond(tolerance)
        within = [difference for difference in self.different_bits if difference.largest <= tolerance]
        same = [difference for difference in self.differences if difference.same_bits]
        sections = [
            ("environment", self.environment),
            ("skipped for want of a package", self.skipped),
            ("the same bits", [f"0 {difference.name}" for difference in same] if every else []),
            ("other bits, within the tolerance", [self._line(difference) for difference in within]),
            ("warnings or texts differ", [line for each in self.different_texts for line in (each.name, *each.texts)]),
            ("new", self.new),
            ("missing", self.missing),
            (f"BEYOND THE TOLERANCE of {tolerance:g}", [self._line(difference) for difference in beyond]),
        ]
        lines = [line for title, content in sections for line in _section(title, content)]
        counts = (
            f"{len(self.differences)} entries compared: {len(same)} with the same bits, {len(within)} within "
            f"{tolerance:g}, {len(beyond)} beyond; {len(self.different_texts)} with other texts, "
            f"{len(self.missing)} missing, {len(self.new)} new."
        )
        return "\n".join([*lines, counts])

    def _line(self, difference: Difference) -> str:
        unstable = "; not stable in the old tree either" if difference.name in self.unstable else ""
        return f"{difference.largest:.2g} {difference.name} ({difference.place}{unstable})"


def compared(old: Snapshot, new: Snapshot) -> Comparison:
    """Return how the `new` snapshot differs from the `old` one.

    Parameters
    ----------
    old, new
        With ``entries``, and where there are any ``skipped``, ``unstable`` and ``environment``.
    """
    before, after = old["entries"], new["entries"]
    skipped = tuple(new.get("skipped", ()))
    # A group whose package is missing is skipped as a whole: its entries have its name before the slash.
    left_out = {name for name in before if name in skipped or name.partition("/")[0] in skipped}
    return Comparison(
        differences=tuple(difference(name, before[name], after[name]) for name in before if name in after),
        missing=tuple(name for name in before if name not in after and name not in left_out),
        new=tuple(name for name in after if name not in before),
        skipped=skipped,
        unstable=tuple(old.get("unstable", ())),
        environment=tuple(_changed_lines(_lines(old.get("environment", {})), _lines(new.get("environment", {})))),
    )


def difference(name: str, old: Entry, new: Entry) -> Difference:
    """Return how an entry differs: of two errors the class counts as a number does, and the message as a text."""
    texts = tuple(f"    {line}" for line in _changed_lines(_words(old), _words(new)))
    if "error" in old or "error" in new:
        same = _outcome(old) == _outcome(new)
        return Difference(name, 0.0 if same else math.inf, f"{_outcome(old)} became {_outcome(new)}", same, texts)
    return _difference_of_numbers(name, old["numbers"], new["numbers"], texts)


def relative_difference(a: float, b: float, unit: float) -> float:
    """Return ``|a - b| / max(|a|, |b|, unit)``.

    Zero for equal numbers and for two NaN; infinite where just one is NaN or infinite.

    Examples
    --------
    >>> relative_difference(1.0, 1.5, unit=2.0)
    0.25
    """
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b), unit)


def _outcome(entry: Entry) -> str:
    return str(entry["error"][0]) if "error" in entry else "numbers"


def _difference_of_numbers(
    name: str, old: Mapping[str, list[Any]], new: Mapping[str, list[Any]], texts: tuple[str, ...]
) -> Difference:
    largest, place, same_bits = 0.0, "the sign of a zero", True
    for field in sorted({*old, *new}):
        before, after = ([float(number) for number in numbers.get(field, ())] for numbers in (old, new))
        if len(before) != len(after):
            return Difference(name, math.inf, f"{field}: {len(before)} numbers became {len(after)}", False, texts)
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            # Hexadecimal digits tell zeros of different signs apart, and all NaN are one.
            same_bits = same_bits and a.hex() == b.hex()
            apart = relative_difference(a, b, _unit(field, i, old))
            if apart > largest:
                largest, place = apart, f"{field}[{i}]: {a!r} became {b!r}"
    return Difference(name, largest, "" if same_bits else place, same_bits, texts)


def _unit(field: str, i: int, numbers: Mapping[str, list[Any]]) -> float:
    """Return the size beside which a difference is judged, where the number itself may be small by cancellation.

    The standard error of the same output; where there is none or it is zero, the largest of the estimates.
    """
    if field in _COUNTS:
        return 0.0
    if field in _SHARES:
        return 1.0
    errors = [float(number) for number in numbers.get("standard_error", ())]
    if len(errors) == len(numbers[field]) and math.isfinite(errors[i]) and errors[i] > 0:
        return errors[i]
    sizes = [abs(float(number)) for number in numbers.get("estimate", numbers[field])]
    return max((size for size in sizes if math.isfinite(size)), default=0.0)


def _words(entry: Entry) -> list[str]:
    """Return the texts of an entry, one line for each."""
    errors = [": ".join(entry["error"])] if "error" in entry else []
    return [*errors, *_lines(entry.get("texts", {})), *(": ".join(warning) for warning in entry.get("warnings", ()))]


def _lines(texts: Mapping[str, Any]) -> list[str]:
    return [f"{field}: {text}" for field, text in texts.items()]


def _changed_lines(old: list[str], new: list[str]) -> Iterator[str]:
    yield from (line for line in difflib.ndiff(old, new) if line[0] in "+-")


def _section(title: str, content: Any) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in content), ""] if content else []
