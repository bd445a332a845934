"""``python -m gtidal``."""

from gtidal.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
