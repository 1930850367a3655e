"""The rules: values, decisions and ports, without I/O."""
