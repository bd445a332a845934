#!/bin/sh
# Say what this machine lacks for building gtidal; nothing if it has all. Without a C compiler gtidal works, but
# slowly, so that fails only where GTIDAL_REQUIRE_COMPILED is set.
python=${PYTHON:-python3}
missing=0

lack() {
    echo "missing: $1" >&2
    echo "    $2" >&2
    missing=1
}

lack_for_speed() {
    if [ -n "$GTIDAL_REQUIRE_COMPILED" ]; then
        lack "$1" "$2"
    else
        echo "missing: $1; gtidal will work, but slowly" >&2
        echo "    $2" >&2
    fi
}

if ! command -v "$python" >/dev/null; then
    lack "Python 3.11 or newer ($python)" "on Debian: apt-get install python3 python3-venv python3-dev"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    lack "Python 3.11 or newer ($python is $("$python" -V 2>&1))" \
        "install a newer one and name it: make PYTHON=python3.12 …"
else
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        lack "the venv and ensurepip modules of $python" "on Debian: apt-get install python3-venv"
    fi
    header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include") + "/Python.h")')
    if [ ! -f "$header" ]; then
        lack_for_speed "Python's C headers ($header)" "on Debian: apt-get install python3-dev"
    fi
fi
if ! command -v "${CC:-cc}" >/dev/null; then
    lack_for_speed "a C compiler (${CC:-cc})" "on Debian: apt-get install gcc libc6-dev"
fi
exit $missing
