"""Status codes of HTTP that mean something to several sides (RFC 9110, 15)."""

# What comes before the answer and is none: hints of what the page will need.
EARLY_HINTS = 103
# Answers that never have a body.
WITHOUT_BODY = frozenset({204, 205})
# Nor has this one, whose headers speak of what the cache holds.
NOT_MODIFIED = 304
# Those whose `Location` is followed.
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# What a monitor takes for an answer of its page where nobody chose statuses.
USUALLY_ACCEPTED = range(200, 400)
