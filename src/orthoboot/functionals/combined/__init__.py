"""Statistics made of statistics and of means."""
