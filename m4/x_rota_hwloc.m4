# m4/x_rota_hwloc.m4 - hwloc: CPUs and NUMA nodes (gpud/inventory/).

AC_DEFUN([X_ROTA_HWLOC], [
  HWLOC_LIBS="-lhwloc"
  rota_save_LIBS="$LIBS"
  LIBS="$HWLOC_LIBS $LIBS"
  AC_CACHE_CHECK([for hwloc 2], [rota_cv_hwloc], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <hwloc.h>
      #if HWLOC_API_VERSION < 0x00020000
      #error older than 2.0
      #endif
    ]], [[hwloc_topology_t topology; return hwloc_topology_init(&topology);]])], [rota_cv_hwloc=yes], [rota_cv_hwloc=no])
  ])
  LIBS="$rota_save_LIBS"
  AS_IF([test "$rota_cv_hwloc" = no], [X_ROTA_MISSING([hwloc 2], [libhwloc-dev])])
  AC_SUBST([HWLOC_LIBS])
])
