"""Tools that judge a change of the library; they are no part of it."""
