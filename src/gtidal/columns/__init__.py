"""What a column is, and how one value of it is read."""
