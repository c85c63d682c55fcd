"""The CSS of the HTML page, for light and dark mode, print and phones."""

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1c1c1c; --quiet: #5d5d5d; --ground: #fdfdfb; --line: #1c1c1c; --hair: #dcdcd6; --link: #1f5f8b;
  --differs: #b00d1a; --panel: #f4f4ef;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e2dc; --quiet: #a5a29a; --ground: #17181a; --line: #b8b5ac; --hair: #35373b; --link: #8fc1e6;
    --differs: #ff8a80; --panel: #212327;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1.0625rem/1.55 "Iowan Old Style", "Palatino Linotype", Palatino, "Book Antiqua", Georgia, serif;
}
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
header { border-bottom: 2px solid var(--line); padding-bottom: 0.75rem; }
h1 { font-size: 2rem; line-height: 1.2; font-weight: 600; margin: 0 0 0.4rem; }
h2 { font-size: 1.4rem; line-height: 1.25; font-weight: 600; margin: 0 0 0.75rem; }
p { max-width: 44rem; margin: 0 0 0.9rem; overflow-wrap: break-word; }
a { color: var(--link); }
code { font: 0.88em ui-monospace, Menlo, Consolas, monospace; }
.run, .sizes, .legend, figcaption, details { color: var(--quiet); font-size: 0.92rem; }
nav { background: var(--panel); padding: 1rem 1.25rem; margin: 1.5rem 0; }
nav h2 { font-size: 1rem; margin: 0 0 0.3rem; }
nav ol { margin: 0; padding-left: 1.4rem; }
section { border-top: 1px solid var(--hair); margin-top: 2.5rem; padding-top: 1.75rem; }
body { counter-reset: table figure; }
.caption::before { counter-increment: table; content: "Table " counter(table) ". "; font-weight: 600; }
figcaption::before { counter-increment: figure; content: "Figure " counter(figure) ". "; font-weight: 600; }
.table { margin: 1.75rem 0; }
.caption { margin: 0 0 0.4rem; }
.caption a { font-size: 0.85rem; margin-left: 0.35rem; }
.scroll { overflow-x: auto; border-top: 2px solid var(--line); border-bottom: 2px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; font-variant-numeric: tabular-nums lining-nums; }
th, td { padding: 0.28rem 0.7rem; text-align: left; vertical-align: baseline; white-space: nowrap; }
th { border-bottom: 1px solid var(--line); font-weight: 600; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--ground); }
tbody tr + tr td { border-top: 1px solid var(--hair); }
.number { text-align: right; }
.differs { color: var(--differs); font-weight: 600; }
details { margin-top: 0.5rem; }
details ul { margin: 0.3rem 0 0; padding-left: 1.3rem; }
figure { margin: 2rem 0; }
figure img {
  display: block; width: 100%; height: auto; background: #fff; padding: 0.75rem; border: 1px solid var(--hair);
}
figcaption { max-width: 44rem; margin-top: 0.5rem; }
@media (max-width: 40rem) {
  main { padding: 1.25rem 0.9rem 3rem; }
  h1 { font-size: 1.6rem; }
}
@media print {
  .scroll { overflow: visible; }
  .table, figure { break-inside: avoid; }
}
"""

RESULT_STYLE = """
.lead { font-size: 1.2rem; }
.error { color: var(--quiet); white-space: nowrap; }
.notes, .versions { color: var(--quiet); font-size: 0.92rem; }
ul { max-width: 44rem; padding-left: 1.3rem; overflow-wrap: anywhere; }
li + li { margin-top: 0.35rem; }
.warnings { border-left: 4px solid var(--differs); padding-left: 2rem; }
tbody th { font-weight: 400; border-bottom: 0; }
tbody tr + tr th { border-top: 1px solid var(--hair); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.35rem 1.5rem; max-width: 50rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
pre { background: var(--panel); padding: 1rem 1.25rem; overflow-x: auto; font-size: 0.95rem; line-height: 1.45; }
.command { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 0.6rem; }
  th, td { padding: 0.28rem 0.4rem; }
  thead th { white-space: normal; vertical-align: bottom; }
}
@page { margin: 1.6cm 1.5cm; }
@media print {
  :root {
    color-scheme: light;
    --ink: #1c1c1c; --quiet: #5d5d5d; --ground: #fff; --line: #1c1c1c; --hair: #dcdcd6; --link: #1f5f8b;
    --differs: #b00d1a; --panel: #f4f4ef;
  }
  main { padding: 0; }
  /* Nothing scrolls on paper, and the ground of a cell that stays would hide the line above it. */
  th:first-child, td:first-child { position: static; }
  section { margin-top: 1.25rem; padding-top: 1rem; }
  h2 { break-after: avoid; }
  pre { white-space: pre-wrap; break-inside: avoid; }
}
"""
"""What the page of a result needs beside it."""
