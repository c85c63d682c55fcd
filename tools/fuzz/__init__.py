"""Draw random calls of `bootstrap`, and check what must hold for every one of them.

::

    python -m tools.fuzz --cases 20000 --jobs 2
    python -m tools.fuzz --case 12345

A case is a function of its number alone: `samples` draws numbers, `containers` what holds them, `catalogue` a statistic
with its laws, `calls` a plan and options, and `cases` puts them together. `outcomes` asks the library, the modules of
`invariances` say what is wrong with the answer, and `runner` counts.

A new statistic is a row of `catalogue.ROWS`; a new invariance is a function with `@invariance` above it.
"""
