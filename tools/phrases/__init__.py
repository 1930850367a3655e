"""The planner without a model: phrases and runbooks."""
