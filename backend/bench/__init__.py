"""How fast the service is on this machine, beside its targets. Rates and ratios of one run; never a test."""
