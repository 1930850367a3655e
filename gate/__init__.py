"""The rules: what may run, who decides, what was shown. Pure: no I/O, no clock, no environment."""
