"""MCP sessions, the catalogue, recipes, and the planner. Imports gate only."""
