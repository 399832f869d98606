// common/sanitized.h - whether this is a build with sanitizers: each compiler has its own word.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define ROTA_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define ROTA_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROTA_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define ROTA_THREAD_SANITIZER 1
#endif
#endif
