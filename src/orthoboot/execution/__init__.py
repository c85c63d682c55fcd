"""Where replicates run, and what is seen of it."""
