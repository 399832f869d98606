#!/bin/bash
# testsuite/t/t0005-dist.t - the tarball holds what the repository holds, and nothing else.
. "$(dirname "$0")/lib.sh"

[[ -f $top_builddir/Makefile ]] || skip_all "no Makefile in $top_builddir"
top=$(git -C "$top_srcdir" rev-parse --show-toplevel 2>/dev/null) || skip_all "not in a git checkout"
[[ $top -ef $top_srcdir ]] || skip_all "the sources are not the top of a git checkout"
plan 4

# What the repository holds and a tarball does not need.
not_shipped='^\.gitignore$'
# What the tarball holds besides: made by autogen.sh, so that its user needs no autotools.
made='^(Makefile\.in|aclocal\.m4|config\.h\.in|configure|build-aux/[a-z.-]+)$'

unset MAKEFLAGS MFLAGS MAKELEVEL
dist=$test_dir/rota
ok "make distdir" make -C "$top_builddir" distdir distdir="$dist" || bail_out "there is no distdir to look at"

# Files that were removed and not yet committed are not missed.
(cd "$top_srcdir" && git ls-files -z | xargs -0 ls -d 2>/dev/null) | grep -vE "$not_shipped" | sort >"$test_dir/tracked"
(cd "$top_srcdir" && git ls-files --cached --others --exclude-standard) | sort >"$test_dir/ours"
(cd "$dist" && find . -type f -o -type l) | sed 's|^\./||' | sort >"$test_dir/shipped"

is "$(comm -23 "$test_dir/tracked" "$test_dir/shipped")" "" \
  "every file of the repository is in the tarball (a Makefrag.am or EXTRA_DIST names it)"
is "$(comm -13 "$test_dir/ours" "$test_dir/shipped" | grep -vE "$made")" "" \
  "the tarball has no file that is not ours"

executable_in() {
  (cd "$1" && while read -r name; do [[ ! -x $name ]] || echo "$name"; done)
}
is "$(executable_in "$dist" <"$test_dir/tracked")" "$(executable_in "$top_srcdir" <"$test_dir/tracked")" \
  "the same files are executable"
