"""Personal data and secrets in texts. What is looked for takes time in proportion to the text (RE2)."""
