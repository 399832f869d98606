# m4/x_rota_fmt.m4 - libfmt: formatting (common/format.h), compiled in where that works.

# X_ROTA_FMT
# Sets the condition FMT_INSIDE where our own compiled copy of its functions (common/format_impl.cpp)
# does; elsewhere -lfmt is linked. Makefile.am sets FMT_LIBS, so that make knows what to build.
AC_DEFUN([X_ROTA_FMT], [
  AC_LANG_PUSH([C++])
  rota_save_LIBS="$LIBS"
  LIBS="-lfmt $LIBS"
  AC_CACHE_CHECK([for libfmt 9], [rota_cv_fmt], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <fmt/format.h>
      #if FMT_VERSION < 90000
      #error older than 9
      #endif
    ]], [[return static_cast<int>(fmt::format("{}", 1).size());]])],
      [rota_cv_fmt=yes], [rota_cv_fmt=no])
  ])
  LIBS="$rota_save_LIBS"
  AS_IF([test "$rota_cv_fmt" = no], [X_ROTA_MISSING([libfmt 9], [libfmt-dev])])
  AC_CACHE_CHECK([whether libfmt can be compiled in], [rota_cv_fmt_inside], [
    AC_LINK_IFELSE([AC_LANG_SOURCE([
      [#include "$srcdir/src/common/format_impl.cpp"]
      [int main(int argc, char** argv) {
        return static_cast<int>(fmt::format("{:L} {:.3f} {}", argc, argc * 1.5, argv[0]).size()) - 1;
      }]])], [rota_cv_fmt_inside=yes], [rota_cv_fmt_inside=no])
  ])
  AM_CONDITIONAL([FMT_INSIDE], [test "$rota_cv_fmt_inside" = yes])
  AC_LANG_POP([C++])
])
