# m4/x_rota_yaml.m4 - libyaml: the configuration file (common/config.cpp).

AC_DEFUN([X_ROTA_YAML], [
  YAML_LIBS="-lyaml"
  rota_save_LIBS="$LIBS"
  LIBS="$YAML_LIBS $LIBS"
  AC_CACHE_CHECK([for libyaml], [rota_cv_yaml], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <yaml.h>
    ]], [[yaml_parser_t parser; return yaml_parser_initialize(&parser);]])], [rota_cv_yaml=yes], [rota_cv_yaml=no])
  ])
  LIBS="$rota_save_LIBS"
  AS_IF([test "$rota_cv_yaml" = no], [X_ROTA_MISSING([libyaml], [libyaml-dev])])
  AC_SUBST([YAML_LIBS])
])
