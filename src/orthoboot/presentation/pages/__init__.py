"""Pages of HTML about results and reports, and what a notebook shows."""
