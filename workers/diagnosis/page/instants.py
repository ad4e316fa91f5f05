"""How near instants of a page load are that hang together."""

# A paint within this of the last request that it waited for waited for nothing else: layout, and a frame of the screen.
DIRECTLY_US = 50_000
# DevTools' instants of a request's end and of a paint come from two processes.
CLOCKS_US = 5_000
# Not needed at all: sooner by more than any load takes.
GONE_US = 10**12
