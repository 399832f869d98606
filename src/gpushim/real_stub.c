// gpushim/real_stub.c - an empty library: the proxies are linked against it, so that they need the
// real driver by a name of ours.

// A library without any symbol is not one for every linker.
extern const int rota_real_stub;
__attribute__((visibility("default"))) const int rota_real_stub = 1;
