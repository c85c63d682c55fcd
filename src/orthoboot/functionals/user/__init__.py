"""Functions of the user's as statistics."""
