# m4/x_rota_munge.m4 - MUNGE: who the peer is (net/munge.cpp).

AC_DEFUN([X_ROTA_MUNGE], [
  MUNGE_LIBS="-lmunge"
  rota_save_LIBS="$LIBS"
  LIBS="$MUNGE_LIBS $LIBS"
  AC_CACHE_CHECK([for libmunge], [rota_cv_munge], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <munge.h>
    ]], [[return munge_encode(0, 0, 0, 0) == EMUNGE_SUCCESS;]])], [rota_cv_munge=yes], [rota_cv_munge=no])
  ])
  LIBS="$rota_save_LIBS"
  AS_IF([test "$rota_cv_munge" = no], [X_ROTA_MISSING([libmunge], [libmunge-dev])])
  AC_SUBST([MUNGE_LIBS])
])
