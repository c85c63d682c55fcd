"""Tables in files: read, their columns chosen and checked."""
