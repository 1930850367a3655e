"""Benchmarks, one module each. Each prints its figures with the goal and the baseline."""
