#!/bin/sh
# Write requirements.lock from pyproject.toml: exact versions with hashes, no index addresses.
# Options (--upgrade) go to `uv pip compile`.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet uv
"$work/venv/bin/uv" pip compile pyproject.toml --output-file requirements.lock --quiet \
    --generate-hashes --no-emit-index-url --all-extras --universal --python-version 3.11 \
    --custom-compile-command "make lock" "$@"
echo "requirements.lock is renewed: $(grep -c '==' requirements.lock) packages" >&2
