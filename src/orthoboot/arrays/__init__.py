"""Passes over long arrays that read them once, in pieces that stay in the processor's cache."""
