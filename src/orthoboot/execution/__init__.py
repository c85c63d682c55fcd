"""How work that is done many times is carried out: in jobs, with progress, interruption and a store."""
