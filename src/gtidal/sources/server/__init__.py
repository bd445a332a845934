"""Live servers: where they are, how to log in, and what they send to a replica."""
