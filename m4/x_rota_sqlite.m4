# m4/x_rota_sqlite.m4 - SQLite: the embedded store (ctld/store/).

AC_DEFUN([X_ROTA_SQLITE], [
  SQLITE_LIBS="-lsqlite3"
  rota_save_LIBS="$LIBS"
  LIBS="$SQLITE_LIBS $LIBS"
  AC_CACHE_CHECK([for SQLite 3.35], [rota_cv_sqlite], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <sqlite3.h>
      #if SQLITE_VERSION_NUMBER < 3035000
      #error older than 3.35
      #endif
    ]], [[return sqlite3_libversion_number();]])], [rota_cv_sqlite=yes], [rota_cv_sqlite=no])
  ])
  LIBS="$rota_save_LIBS"
  AS_IF([test "$rota_cv_sqlite" = no], [X_ROTA_MISSING([SQLite 3.35], [libsqlite3-dev])])
  AC_SUBST([SQLITE_LIBS])
])
