"""The rates of the theorems, and the finite-horizon example."""
