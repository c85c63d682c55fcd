"""The program that makes the result of a simulation again, as far as the result knows it."""

from __future__ import annotations

from collections.abc import Iterator

from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.wording import shortened


def simulation_code(answer: SimulationAnswer) -> str:
    """Return a call of `input_uncertainty` on `run` and `inputs`; comments say what these are."""
    then = [f"result = result.{call}" for call in answer.call.then]
    opened = ["import orthoboot as ob", "", "result = ob.input_uncertainty("]
    return "\n".join([*opened, *_arguments(answer), ")", *then, "print(result)"])


def _arguments(answer: SimulationAnswer) -> Iterator[str]:
    yield f"    run,  # {shortened(answer.model)}"
    yield f"    inputs,  # {'; '.join(f'{entry.name}: {entry.description}' for entry in answer.inputs)}"
    yield from (f"    {name}={value!r}," for name, value in answer.call.options)
    if answer.call.seed is None:
        yield "    rng=0,  # the run had no number for its seed: these draws cannot be reproduced"
