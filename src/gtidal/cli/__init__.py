"""One file per command. Data on stdout, messages on stderr; exit 0 fine, 1 a problem in the data, 2 wrong use."""
