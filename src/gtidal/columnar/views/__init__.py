"""The views: events, transactions, changes, and the typed rows of one table."""
