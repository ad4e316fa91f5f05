"""Hypothesis without deadlines: how long an example takes depends on what else the machine does."""

import hypothesis

hypothesis.settings.register_profile("arithmetic", deadline=None)
hypothesis.settings.load_profile("arithmetic")
