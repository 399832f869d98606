# m4/x_rota_gtest.m4 - GoogleTest and GoogleMock: the unit tests.

AC_DEFUN([X_ROTA_GTEST], [
  AC_LANG_PUSH([C++])
  GTEST_LIBS="-lgmock -lgtest -lpthread"
  rota_save_LIBS="$LIBS"
  LIBS="$GTEST_LIBS $LIBS"
  AC_CACHE_CHECK([for GoogleTest], [rota_cv_gtest], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <gtest/gtest.h>]], [[return RUN_ALL_TESTS();]])],
      [rota_cv_gtest=yes], [rota_cv_gtest=no])
  ])
  AC_CACHE_CHECK([for GoogleMock], [rota_cv_gmock], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <gmock/gmock.h>]],
      [[testing::InitGoogleMock();]])], [rota_cv_gmock=yes], [rota_cv_gmock=no])
  ])
  LIBS="$rota_save_LIBS"
  AS_IF([test "$rota_cv_gtest" = no], [X_ROTA_MISSING([GoogleTest], [libgtest-dev])])
  AS_IF([test "$rota_cv_gmock" = no], [X_ROTA_MISSING([GoogleMock], [libgmock-dev])])
  AC_SUBST([GTEST_LIBS])
  AC_LANG_POP([C++])
])
