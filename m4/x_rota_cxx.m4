# m4/x_rota_cxx.m4 - the compilers: C++20 with coroutines, and whether a static program links.

# X_ROTA_CXX20
# Adds -std=c++20 to CXX; ends configure when the compiler cannot do coroutines.
AC_DEFUN([X_ROTA_CXX20], [
  AC_LANG_PUSH([C++])
  CXX="$CXX -std=c++20"
  AC_CACHE_CHECK([whether $CXX compiles C++20 coroutines], [rota_cv_cxx20], [
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
      #include <compare>
      #include <concepts>
      #include <coroutine>
      #include <span>
      struct Task {
        struct promise_type {
          Task get_return_object() { return {}; }
          std::suspend_never initial_suspend() { return {}; }
          std::suspend_never final_suspend() noexcept { return {}; }
          void return_void() {}
          void unhandled_exception() {}
        };
      };
      Task run() { co_return; }
    ]], [[run();]])], [rota_cv_cxx20=yes], [rota_cv_cxx20=no])
  ])
  AS_IF([test "$rota_cv_cxx20" = no], [
    AC_MSG_ERROR([$CXX has no C++20 coroutines: g++ 12 or clang 14 is needed: apt-get install g++])
  ])
  AC_LANG_POP([C++])
])

# X_ROTA_CXX_FLAG(FLAG, VARIABLE)
# Appends FLAG to VARIABLE when the C++ compiler takes it.
AC_DEFUN([X_ROTA_CXX_FLAG], [
  AC_LANG_PUSH([C++])
  rota_save_CXXFLAGS="$CXXFLAGS"
  CXXFLAGS="$CXXFLAGS -Werror $1"
  AC_MSG_CHECKING([whether $CXX takes $1])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
    [AC_MSG_RESULT([yes])
     $2="$$2 $1"],
    [AC_MSG_RESULT([no])])
  CXXFLAGS="$rota_save_CXXFLAGS"
  AC_LANG_POP([C++])
])

# X_ROTA_STATIC_LINK
# Sets STEPD_LDFLAGS to link rstepd without shared libraries where that works: one rstepd starts
# per job and node, and the dynamic linker would be most of its start.
AC_DEFUN([X_ROTA_STATIC_LINK], [
  AC_LANG_PUSH([C++])
  STEPD_LDFLAGS=
  rota_save_LDFLAGS="$LDFLAGS"
  AS_IF([test -z "$SANITIZER_CXXFLAGS" && test "$rota_cv_fmt_inside" = yes], [
    for rota_static in -static-pie -static; do
      AS_IF([test -z "$STEPD_LDFLAGS"], [
        AC_MSG_CHECKING([whether $CXX links with $rota_static])
        LDFLAGS="$rota_save_LDFLAGS $rota_static"
        AC_RUN_IFELSE([AC_LANG_PROGRAM([[
          #include <string>
          #include <vector>
        ]], [[return std::vector<std::string>(7, "rstepd").size() == 7 ? 0 : 1;]])],
          [AC_MSG_RESULT([yes])
           STEPD_LDFLAGS=$rota_static],
          [AC_MSG_RESULT([no])],
          [AC_MSG_RESULT([not tried when cross compiling])])
      ])
    done
  ])
  LDFLAGS="$rota_save_LDFLAGS"
  AC_SUBST([STEPD_LDFLAGS])
  AC_LANG_POP([C++])
])

# X_ROTA_STATIC_COMMANDS
# Sets COMMANDS_LDFLAGS and COMMANDS_OUTSIDE_LIBS. A command runs for a millisecond or two, and more than half
# of that would go to loading and relocating shared libraries. Where the static ones are there, the commands
# are linked whole (WHOLE_COMMANDS): they carry the few functions that they use, and look names up another
# way (common/names.h).
AC_DEFUN([X_ROTA_STATIC_COMMANDS], [
  AC_ARG_ENABLE([static-commands],
    [AS_HELP_STRING([--disable-static-commands],
      [link the commands with shared libraries, as PIE; they then take twice as long to start])],
    [], [enable_static_commands=yes])
  AC_LANG_PUSH([C])
  COMMANDS_LDFLAGS=
  COMMANDS_OUTSIDE_LIBS="$YAML_LIBS $MUNGE_LIBS $OPENSSL_LIBS"
  rota_whole_commands=no
  AS_IF([test -z "$SANITIZER_CXXFLAGS"], [COMMANDS_LDFLAGS="-static-libstdc++ -static-libgcc -Wl,--as-needed"])
  AS_IF([test -z "$SANITIZER_CXXFLAGS" && test "$enable_static_commands" != no && test "$rota_cv_fmt_inside" = yes], [
    rota_save_LDFLAGS="$LDFLAGS"
    rota_save_LIBS="$LIBS"
    LDFLAGS="$LDFLAGS -static"
    LIBS="-lyaml -lmunge -lcrypto $LIBS"
    AC_MSG_CHECKING([for static libyaml, libmunge, libcrypto and libc])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <munge.h>
      #include <openssl/evp.h>
      #include <yaml.h>
    ]], [[
      return munge_ctx_create() != 0 && EVP_aes_256_gcm() != 0 && yaml_get_version_string() != 0;
    ]])],
      [AC_MSG_RESULT([yes])
       rota_whole_commands=yes
       COMMANDS_LDFLAGS="-static -Wl,--wrap=dlopen"
       COMMANDS_OUTSIDE_LIBS="-lyaml -lmunge -lcrypto"],
      [AC_MSG_RESULT([no])])
    LDFLAGS="$rota_save_LDFLAGS"
    LIBS="$rota_save_LIBS"
  ])
  AC_SUBST([COMMANDS_LDFLAGS])
  AC_SUBST([COMMANDS_OUTSIDE_LIBS])
  AM_CONDITIONAL([WHOLE_COMMANDS], [test "$rota_whole_commands" = yes])
  AC_LANG_POP([C])
])
