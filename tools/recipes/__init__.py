"""Recipes: what operators say of tools, read strictly and checked."""
