# m4/x_rota_pmix.m4 - PMIx: how MPI programs of a step find each other (gpud/launch/pmix.cpp). Optional.

AC_DEFUN([X_ROTA_PMIX], [
  AC_ARG_WITH([pmix],
    [AS_HELP_STRING([--without-pmix], [build no PMIx server: steps of MPI programs cannot be started])],
    [], [with_pmix=check])
  rota_have_pmix=no
  AS_IF([test "$with_pmix" != no], [
    PMIX_CPPFLAGS=`pkg-config --cflags pmix 2>/dev/null | sed 's/-I/-isystem /g'`
    PMIX_LIBS=`pkg-config --libs pmix 2>/dev/null`
    AS_IF([test -z "$PMIX_LIBS"], [PMIX_LIBS="-lpmix"])
    rota_save_LIBS="$LIBS"
    rota_save_CPPFLAGS="$CPPFLAGS"
    LIBS="$PMIX_LIBS $LIBS"
    CPPFLAGS="$PMIX_CPPFLAGS $CPPFLAGS"
    AC_CACHE_CHECK([for PMIx 4], [rota_cv_pmix], [
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[
        #include <pmix_server.h>
        #if PMIX_VERSION_MAJOR < 4
        #error older than 4
        #endif
      ]], [[return PMIx_server_finalize();]])], [rota_cv_pmix=yes], [rota_cv_pmix=no])
    ])
    LIBS="$rota_save_LIBS"
    CPPFLAGS="$rota_save_CPPFLAGS"
    rota_have_pmix="$rota_cv_pmix"
    AS_IF([test "$rota_have_pmix" = no && test "$with_pmix" = yes], [X_ROTA_MISSING([PMIx 4], [libpmix-dev])])
  ])
  AC_SUBST([PMIX_CPPFLAGS])
  AC_SUBST([PMIX_LIBS])
  AM_CONDITIONAL([HAVE_PMIX], [test "$rota_have_pmix" = yes])
])
