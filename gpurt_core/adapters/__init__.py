"""Adapters: code that compiles by itself, counted and steered unchanged."""
