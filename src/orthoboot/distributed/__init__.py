"""Sources of rows that do not lie in memory, one file for each library."""
