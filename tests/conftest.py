"""Two hypothesis profiles: a quick one for people, a longer and repeatable one for CI."""

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow]
settings.register_profile("dev", max_examples=40, deadline=None, suppress_health_check=_QUIET)
settings.register_profile(
    "ci", max_examples=100, deadline=None, derandomize=True, suppress_health_check=_QUIET
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
