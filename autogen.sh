#!/bin/sh
# autogen.sh - makes configure and Makefile.in; run it once in a clone, and when configure.ac changes.
set -eu
cd "$(dirname "$0")"
for program in autoreconf automake; do
  command -v "$program" >/dev/null || {
    echo "autogen.sh: $program not found: apt-get install autoconf automake" >&2
    exit 1
  }
done
mkdir -p build-aux
exec autoreconf --install "$@"
