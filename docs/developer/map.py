"""The map of the rooms: which there are, from top to bottom, and what each imports; and whether the house is in order.

``python docs/developer/map.py`` prints the map and every rule that is broken, and ends with 1 if one is; ``--write``
also puts the map on the page architecture.md beside this file. The order of the rooms is that of the contract of
import-linter in pyproject.toml.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Literal, NamedTuple

from orthoboot.errors import MissingDependencyError

REPOSITORY = Path(__file__).parents[2]
PAGE = Path(__file__).with_name("architecture.md")

MOST_AT_THE_TOP = 10
"""Modules beside the packages: what a reader of the folder `src/orthoboot` sees first."""

MOST_IN_A_FOLDER = 14

When = Literal["always", "called", "types"]
"""Whether an import runs with its module, when a function is called, or for the type checker alone."""


class Import(NamedTuple):
    """One module names another."""

    importer: str
    imported: str
    when: When
    line: int


class Layer(NamedTuple):
    """Rooms of one height."""

    rooms: tuple[str, ...]
    independent: bool
    """Whether they may not import one another either."""


@dataclass(frozen=True)
class House:
    """A package: its modules, what they import, and the order its rooms are to have."""

    package: str
    modules: dict[str, Path]
    imports: tuple[Import, ...]
    layers: tuple[Layer, ...]

    def room(self, module: str) -> str:
        """Return the room of a module: the package or module at the top level it belongs to, or the root itself."""
        return ".".join(module.split(".")[:2])

    @property
    def rooms(self) -> list[str]:
        """All rooms from top to bottom: the root, what no layer names, then the layers."""
        placed = [room for layer in self.layers for room in layer.rooms]
        there = sorted({self.room(module) for module in self.modules})
        return [room for room in there if room not in placed] + [room for room in placed if room in there]

    def height(self, room: str) -> int | None:
        """Return the number of the layer, counted from the top, that names a room."""
        return next((number for number, layer in enumerate(self.layers, start=1) if room in layer.rooms), None)

    def between_rooms(self) -> Iterator[tuple[str, str, Import]]:
        """Yield the imports that leave a room: from where, to where, and the import."""
        for entry in self.imports:
            importer, imported = self.room(entry.importer), self.room(entry.imported)
            if importer != imported:
                yield importer, imported, entry


# Reading


def read(repository: Path) -> House:
    """Return the house under the folder `src` of a repository."""
    settings = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    package = settings["root_package"]
    modules = _modules(repository / "src", package)
    imports = tuple(entry for module in modules for entry in _imports(module, modules))
    return House(package, modules, imports, tuple(_layers(settings, package)))


def _modules(source: Path, package: str) -> dict[str, Path]:
    """Return the file of every module by its dotted name; a package is its ``__init__``."""
    modules = {}
    for path in sorted((source / package).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def _layers(settings: dict[str, list[dict[str, object]]], package: str) -> Iterator[Layer]:
    """Yield the layers of the first contract that orders the rooms; those inside of a room are not the map's."""
    for contract in settings["contracts"]:
        containers = contract.get("containers", [""])
        lines = contract.get("layers", [])
        if contract["type"] != "layers" or not isinstance(containers, list) or not isinstance(lines, list):
            continue
        prefix = f"{containers[0]}." if containers[0] else ""
        layers = [_layer(line, prefix) for line in lines]
        if all(room.count(".") == 1 and room.startswith(f"{package}.") for layer in layers for room in layer.rooms):
            yield from layers
            return


def _layer(line: str, prefix: str) -> Layer:
    """Return one layer as import-linter writes it: `a | b` are independent, `a : b` are not, `(a)` may be missing."""
    rooms = [name.strip().strip("()") for name in re.split(r"[|:]", line)]
    return Layer(tuple(prefix + room for room in rooms), independent=":" not in line)


def _imports(module: str, modules: dict[str, Path]) -> list[Import]:
    """Return what a module imports of the package itself, wherever in the file."""
    text = modules[module].read_text(encoding="utf-8")
    is_package = modules[module].name == "__init__.py"
    reader = _Reader(module, is_package, modules)
    reader.visit(ast.parse(text))
    return [entry for entry in reader.found if entry.imported != module]


class _Reader(ast.NodeVisitor):
    """Collects the imports of one file."""

    def __init__(self, module: str, is_package: bool, modules: dict[str, Path]) -> None:
        self.module, self.modules = module, modules
        self.parents = module.split(".") if is_package else module.split(".")[:-1]
        self.when: When = "always"
        self.by_name = False
        self.found: list[Import] = []

    def visit_Module(self, node: ast.Module) -> None:
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        self.by_name = "import_module" in names
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        parents = self.parents[: len(self.parents) - node.level + 1] if node.level else []
        base = ".".join([*parents, *([node.module] if node.module else [])])
        for alias in node.names:
            submodule = f"{base}.{alias.name}"
            self._add(submodule if submodule in self.modules else base, node)

    def visit_Constant(self, node: ast.Constant) -> None:
        # A table of what is imported when it is asked for, as that of the root, holds names of modules.
        if self.by_name and isinstance(node.value, str):
            self._add(node.value, node, "called")

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.generic_visit(node)
            return
        self._visit_all(node.body, "types")
        self._visit_all(node.orelse, self.when)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all(node.body, "called")

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def _visit_all(self, nodes: list[ast.stmt], when: When) -> None:
        before, self.when = self.when, when
        for node in nodes:
            self.visit(node)
        self.when = before

    def _add(self, imported: str, node: ast.AST, when: When | None = None) -> None:
        if imported in self.modules:
            self.found.append(Import(self.module, imported, when or self.when, getattr(node, "lineno", 0)))


# Drawing


def drawn(house: House) -> str:
    """Return the map as a table, from top to bottom."""
    now, later = _targets(house, {"always"}), _targets(house, {"called", "types"})
    rows = [
        f"| {house.height(room) or ''} | {_name(house, room)} | {_description(house.modules[room])} "
        f"| {_listed(house, now[room])} | {_listed(house, later[room] - now[room])} |"
        for room in house.rooms
    ]
    head = ["| layer | package | what it is | imports | when called, or for types |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


def _targets(house: House, kinds: set[str]) -> dict[str, set[str]]:
    targets: dict[str, set[str]] = {room: set() for room in house.rooms}
    for importer, imported, entry in house.between_rooms():
        if entry.when in kinds:
            targets[importer].add(imported)
    return targets


def _name(house: House, room: str) -> str:
    is_package = house.modules[room].name == "__init__.py"
    return f"`{room.split('.')[-1]}{'/' if is_package else ''}`"


def _listed(house: House, rooms: set[str]) -> str:
    return ", ".join(room.split(".")[-1] for room in house.rooms if room in rooms)


def _description(path: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].replace("|", r"\|")


_MARKED = re.compile(r"(<!-- map -->\n).*?(<!-- end of map -->\n)", flags=re.DOTALL)


def filled(page: str, drawing: str) -> str:
    """Return a page with the map between its two markers."""
    return _MARKED.sub(lambda place: f"{place[1]}\n{drawing}\n{place[2]}", page)


# Rules


def broken_rules(house: House) -> list[str]:
    """Return a sentence for everything that is not in order."""
    return [
        *_cycles(house),
        *_upward_imports(house),
        *_rooms_without_a_layer(house),
        *_full_folders(house),
        *_shadowed_modules(house),
    ]


def _cycles(house: House) -> Iterator[str]:
    # An import for the type checker never runs: two modules may name each other's types.
    graph: dict[str, list[str]] = {module: [] for module in house.modules}
    for entry in house.imports:
        if entry.when != "types":
            graph[entry.importer].append(entry.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # Each of the list is imported by the next one, and the last is the first again.
        cycle = error.args[1][:0:-1]
        start = cycle.index(min(cycle))
        yield f"a cycle of imports: {' -> '.join([*cycle[start:], *cycle[: start + 1]])}"


def _upward_imports(house: House) -> Iterator[str]:
    for importer, imported, entry in house.between_rooms():
        low, high = house.height(importer), house.height(imported)
        if low is None or high is None:
            continue
        where = f"{entry.importer}, line {entry.line}, imports {entry.imported}"
        if low > high:
            yield f"an import upwards, from layer {low} to layer {high}: {where}"
        elif low == high and house.layers[low - 1].independent:
            yield f"an import between independent rooms of layer {low}: {where}"


def _rooms_without_a_layer(house: House) -> Iterator[str]:
    for room in house.rooms:
        if house.height(room) is None and room not in (house.package, f"{house.package}.__main__"):
            yield f"a room in no layer of pyproject.toml: {room}"


def _full_folders(house: House) -> Iterator[str]:
    for package, path in house.modules.items():
        if path.name != "__init__.py":
            continue
        own = len(list(path.parent.glob("*.py"))) - 1
        most = MOST_AT_THE_TOP if package == house.package else MOST_IN_A_FOLDER
        if own > most:
            yield f"a folder with {own} modules of its own, of at most {most}: {package}"


def _shadowed_modules(house: House) -> Iterator[str]:
    """Yield the modules that their package binds something else to, before or after they are imported."""
    for module in house.modules:
        parent, _, name = module.rpartition(".")
        if not parent or name == "__main__":
            continue
        try:
            package = importlib.import_module(parent)
            before = vars(package).get(name)
            found = importlib.import_module(module)
        except (ImportError, MissingDependencyError) as error:
            print(f"not imported, so not looked at: {module} ({error})", file=sys.stderr)
            continue
        bound = [value for value in (before, getattr(package, name)) if value is not None and value is not found]
        if bound:
            yield f"a module shadowed by a name of its package: {parent} binds {name} to a {type(bound[0]).__name__}"


def main(arguments: list[str] | None = None) -> int:
    """Print the map and what is not in order, and return the exit code."""
    parser = argparse.ArgumentParser(description="The map of the rooms, and whether the house is in order.")
    parser.add_argument("--write", action="store_true", help=f"also put the map on the page {PAGE.name}")
    write = parser.parse_args(arguments).write
    house = read(REPOSITORY)
    drawing = drawn(house)
    print(drawing)
    if write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), drawing), encoding="utf-8")
    broken = broken_rules(house)
    for sentence in broken:
        print(sentence)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
