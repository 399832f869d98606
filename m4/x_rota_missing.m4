# m4/x_rota_missing.m4 - collects what configure did not find, to name it all in one error.

# X_ROTA_MISSING(LIBRARY, DEBIAN-PACKAGE)
# Notes that LIBRARY was not found; configure goes on, so that one run names everything.
AC_DEFUN([X_ROTA_MISSING], [
  AS_IF([test -n "$rota_missing"], [rota_missing="$rota_missing, "])
  rota_missing="${rota_missing}$1"
  rota_missing_packages="$rota_missing_packages $2"
])

# X_ROTA_STOP_IF_MISSING
# Ends configure when X_ROTA_MISSING was called.
AC_DEFUN([X_ROTA_STOP_IF_MISSING], [
  AS_IF([test -n "$rota_missing"], [
    AC_MSG_ERROR([$rota_missing not found: apt-get install$rota_missing_packages])
  ])
])
