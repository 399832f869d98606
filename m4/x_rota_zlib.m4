# m4/x_rota_zlib.m4 - zlib: gzipped traces and cases (sim/text_file.cpp).

AC_DEFUN([X_ROTA_ZLIB], [
  ZLIB_LIBS="-lz"
  rota_save_LIBS="$LIBS"
  LIBS="$ZLIB_LIBS $LIBS"
  AC_CACHE_CHECK([for zlib], [rota_cv_zlib], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <zlib.h>
    ]], [[return gzopen("/dev/null", "rb") == 0;]])], [rota_cv_zlib=yes], [rota_cv_zlib=no])
  ])
  LIBS="$rota_save_LIBS"
  AS_IF([test "$rota_cv_zlib" = no], [X_ROTA_MISSING([zlib], [zlib1g-dev])])
  AC_SUBST([ZLIB_LIBS])
])
