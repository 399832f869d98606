#!/bin/bash
# testsuite/t/t0008-configure.t - configure names each library that is missing, and Debian's package for it.
. "$(dirname "$0")/lib.sh"

[[ -x $top_srcdir/configure ]] || skip_all "no configure in $top_srcdir"
[[ ! -f $top_srcdir/config.status ]] || skip_all "the source tree itself is configured"
plan 13

# A header of each library, hidden behind one that does not compile.
hidden=$test_dir/hidden
hide() {
  mkdir -p "$(dirname "$hidden/$1")"
  echo '#error "hidden"' >"$hidden/$1"
}
libraries=(
  "Boost 1.81|libboost1.81-dev|boost/version.hpp"
  "libfmt 9|libfmt-dev|fmt/format.h"
  "GoogleTest|libgtest-dev|gtest/gtest.h"
  "GoogleMock|libgmock-dev|gmock/gmock.h"
  "libmunge|libmunge-dev|munge.h"
  "OpenSSL 3|libssl-dev|openssl/evp.h"
  "libyaml|libyaml-dev|yaml.h"
  "SQLite 3.35|libsqlite3-dev|sqlite3.h"
  "hwloc 2|libhwloc-dev|hwloc.h"
  "zlib|zlib1g-dev|zlib.h"
)
for library in "${libraries[@]}"; do hide "${library##*|}"; done
mkdir "$test_dir/build"
cd "$test_dir/build" || bail_out "no directory"
not_ok "configure stops" "$top_srcdir/configure" CPPFLAGS="-I$hidden"
error=$(tail -n 1 "$test_dir/ok.out")
like "$error" '^configure: error: .* not found: apt-get install ' "and says how to go on"
for library in "${libraries[@]}"; do
  IFS='|' read -r name package _ <<<"$library"
  like "$error" "[ ,]$name[ ,].*:.* $package( |\$)" "$name comes with $package"
done

named=${error##*apt-get install }
# shellcheck disable=SC2086
is "$(cd "$top_srcdir" && for package in $named; do grep -qE "(^| )$package( |\$)" contribs/install-deps || echo "$package"; done)" "" \
  "contribs/install-deps installs all of these"
