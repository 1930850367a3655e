"""What people see: values in, Block Kit out. Pure."""
