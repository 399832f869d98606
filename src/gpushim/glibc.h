// gpushim/glibc.h - binds to the oldest forms of what newer C libraries have moved, so that the
// shim also loads in images with an old one.
#pragma once

#if defined(__x86_64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlinfo,dlinfo@GLIBC_2.3.3");
#elif defined(__aarch64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dlinfo,dlinfo@GLIBC_2.17");
#endif
