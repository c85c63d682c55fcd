"""User functions as statistics."""
