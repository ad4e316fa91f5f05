"""Measurements of other tools, read from their files into our nouns. Pure.

`read.read_import` is the way in. What a file does not say stays None; what cannot be read is left out and counted.
"""
