"""The rules: what may run, who decides, what was shown. Pure: I/O goes through ports, time and ids are arguments."""
