"""The only readers of the outside world."""
