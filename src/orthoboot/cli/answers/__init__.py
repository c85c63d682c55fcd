"""What a command found: as text, as JSON, in files, as a page and as a picture."""
