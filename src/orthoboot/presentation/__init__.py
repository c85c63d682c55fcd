"""Output of results: text, tables, figures, pages and the terminal."""
