#!/bin/bash
# testsuite/t/t0007-install.t - `make install DESTDIR=` puts a Rota in place that works, and
# `make uninstall` takes all of it away.
#
# The programs know their own prefix, so the installed tree is laid over that prefix in a mount
# namespace of the test's own; the host's prefix is not touched.
. "$(dirname "$0")/lib.sh"

[[ -f $top_builddir/Makefile ]] || skip_all "no Makefile in $top_builddir"
plan 6
unset MAKEFLAGS MFLAGS MAKELEVEL
root=$test_dir/root

# variable NAME: what make thinks it is.
variable() {
  printf 'include %s/Makefile\nrota-show:\n\t@echo $(%s)\n' "$top_builddir" "$1" |
    make -s --no-print-directory -C "$top_builddir" -f - rota-show
}
prefix=$(variable prefix)
bindir=$(variable bindir)
sbindir=$(variable sbindir)
libexecdir=$(variable pkglibexecdir)
datadir=$(variable pkgdatadir)
mandir=$(variable mandir)

ok "make install DESTDIR=" make -C "$top_builddir" install DESTDIR="$root" || bail_out "nothing is installed"
is "$(cd "$root$bindir" && echo *)" "radmin ralloc rattach rcancel rexec rinfo rlogs rota rproject rqueue rrun rsecret rshare rsim rsubmit" "the commands"
is "$(grep -h '^ExecStart=' "$root$datadir"/*.service | cut -d' ' -f1)" \
  "$(printf 'ExecStart=%s\n' "$sbindir/rctld" "$sbindir/rgpud" "$sbindir/rproxy")" "the units name the programs of this prefix"
is "$(grep -rlF "$root" "$root")" "" "no file knows of DESTDIR"

# over_prefix COMMAND...: COMMAND, as the same user, where the installed tree lies over the prefix.
over_prefix() {
  local lay='mount -t overlay rota -o "lowerdir=$0:$1" "$1" && shift && exec "$@"'
  if ((EUID == 0)); then
    unshare --mount sh -c "$lay" "$root$prefix" "$prefix" "$@"
  else
    unshare --user --map-root-user --mount sh -c "$lay" "$root$prefix" "$prefix" \
      unshare --user --map-user="$(id -u)" --map-group="$(id -g)" -- "$@"
  fi
}
chmod 755 "$root" "$root$prefix"
if [[ ! -d $prefix ]]; then
  skip 1 "no $prefix on this host to lay the installed tree over"
elif ! over_prefix true 2>"$test_dir/over"; then
  skip 1 "no overlay in a mount namespace here: $(head -n 1 "$test_dir/over")"
else
  ok "a cluster from the installed prefix takes a job" over_prefix \
    "$top_srcdir/testsuite/installcheck" "$bindir" "$sbindir" "$libexecdir" "$mandir"
fi

make -C "$top_builddir" uninstall DESTDIR="$root" >"$test_dir/uninstall" 2>&1
is "$(find "$root" ! -type d)" "" "make uninstall leaves nothing"
