"""Draws within strata, of rows in memory and of rows that are read part by part."""
