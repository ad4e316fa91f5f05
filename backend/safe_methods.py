"""The methods of HTTP that only look (RFC 9110, 9.2.1), as far as we answer them."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
