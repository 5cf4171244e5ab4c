#!/bin/sh
# Makes a Python with the packages of LIST, each file of which has its SHA-256 there (lock_packages.py writes it).
#
# usage: python_packages.sh FOLDER LIST      nothing to do where FOLDER has those packages already
set -eu
cmp -s "$2" "$1/done" && exit 0
python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { echo "needs Python 3.11 to 3.13"; exit 1; }
rm -rf "$1"
python3 -m venv "$1"
"$1/bin/python" -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r "$2"
cp "$2" "$1/done"
