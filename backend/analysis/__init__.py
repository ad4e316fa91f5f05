"""What measurements mean over time. Pure: numbers in, numbers out; no Django, no clock."""
