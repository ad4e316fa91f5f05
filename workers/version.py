"""The version an agent reports: a constant, because a region runs from a copied folder without package metadata."""

VERSION = "0.1.0"
