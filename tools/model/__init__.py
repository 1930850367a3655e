"""The planner with a model."""
