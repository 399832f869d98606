// commands/whole.c - what libraries ask of the C library and a program linked whole cannot have.
#include <stddef.h>

/* libcrypto loads engines and providers, and looks up hosts for its own sockets, as Asio does. The
   commands do neither: they use what is linked in, and common/names.h. With these here, the C
   library's own are left out, which would need the very version of its shared libraries that they
   were built with. (Its start-up code holds on to dlopen, so that one is renamed by --wrap.) */

struct hostent;
struct addrinfo;

void* __wrap_dlopen(const char* file, int mode);
struct hostent* gethostbyname(const char* name);
int getaddrinfo(const char* node, const char* service, const struct addrinfo* hints,
                struct addrinfo** found);
void freeaddrinfo(struct addrinfo* found);

void* __wrap_dlopen(const char* file, int mode) {
  (void)file;
  (void)mode;
  return NULL;
}

struct hostent* gethostbyname(const char* name) {
  (void)name;
  return NULL;
}

int getaddrinfo(const char* node, const char* service, const struct addrinfo* hints,
                struct addrinfo** found) {
  (void)node;
  (void)service;
  (void)hints;
  (void)found;
  return -4; /* EAI_FAIL */
}

void freeaddrinfo(struct addrinfo* found) { (void)found; }
