# m4/x_rota_openssl.m4 - OpenSSL: the seal of a session (net/), and TLS for browsers (proxy/).

AC_DEFUN([X_ROTA_OPENSSL], [
  OPENSSL_LIBS="-lcrypto"
  rota_save_LIBS="$LIBS"
  LIBS="$OPENSSL_LIBS $LIBS"
  AC_CACHE_CHECK([for OpenSSL 3], [rota_cv_openssl], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <openssl/evp.h>
      #include <openssl/opensslv.h>
      #if OPENSSL_VERSION_MAJOR < 3
      #error older than 3
      #endif
    ]], [[return EVP_aes_256_gcm() == 0;]])], [rota_cv_openssl=yes], [rota_cv_openssl=no])
  ])
  LIBS="$rota_save_LIBS"
  AS_IF([test "$rota_cv_openssl" = no], [X_ROTA_MISSING([OpenSSL 3], [libssl-dev])])
  AC_SUBST([OPENSSL_LIBS])
  # Only rproxy speaks TLS; libssl comes with the same package.
  AC_SUBST([TLS_LIBS], ["-lssl -lcrypto"])
])
