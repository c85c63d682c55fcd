"""How reports are shown: Markdown and CSV, the terminal, pictures, and one HTML page. No numbers are made here."""
