"""How answers are shown: text, tables, figures, pages and the terminal. No numbers are made here."""
