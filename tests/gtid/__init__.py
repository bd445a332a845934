"""GTIDs and sets of them."""
