# m4/x_rota_boost.m4 - Boost: Asio and the header-only libraries, 1.81 or later.

AC_DEFUN([X_ROTA_BOOST], [
  AC_LANG_PUSH([C++])
  AC_CACHE_CHECK([for Boost 1.81 with Asio], [rota_cv_boost], [
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
      #include <boost/asio/version.hpp>
      #include <boost/system/result.hpp>
      #include <boost/version.hpp>
      #if BOOST_VERSION < 108100
      #error older than 1.81
      #endif
    ]])], [rota_cv_boost=yes], [rota_cv_boost=no])
  ])
  AS_IF([test "$rota_cv_boost" = no], [X_ROTA_MISSING([Boost 1.81], [libboost1.81-dev])])
  AC_LANG_POP([C++])
])
