"""The influence of every row of one input, the most influential ones named."""

from __future__ import annotations

from orthoboot.presentation.plots.base import Kind, View, plain
from orthoboot.presentation.plots.rows import draw_influence, influence_caption
from orthoboot.presentation.simulation_answer import SimulationAnswer
from orthoboot.presentation.wording import shortened


def influence_kind(number: int | None) -> Kind[SimulationAnswer]:
    """Return the plot of the rows of the input of that number; None for the one with the largest share."""

    def chosen(answer: SimulationAnswer, j: int) -> int:
        return answer.main_input(j) if number is None else number

    def draw(view: View[SimulationAnswer]) -> None:
        i = chosen(view.answer, view.output)
        changes, rows = view.answer.rows_of_input(i, view.output)
        draw_influence(view, [changes], rows)
        view.axes.set_xlabel(f"row of {plain(shortened(view.answer.inputs[i].name))}")
        view.axes.set_title(view.title, loc="left")

    def caption(answer: SimulationAnswer, j: int) -> str:
        i = chosen(answer, j)
        return f"Rows of {answer.inputs[i].name}. {influence_caption(answer.rows_of_input(i, j)[1])}"

    return Kind("influence", draw, caption)
