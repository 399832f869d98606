// gpud/container/pause.c - rota-pause: the first process of a job's container, which only waits.
//
// It keeps the container's namespaces alive while rstepd's children run in them. Through the socket
// beside it rstepd learns that the container is there and which process this is; when rstepd closes
// it, or dies, this ends, and with it everything in the container. Static, because the image may
// hold any C library or none.
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DOOR "/run/.rota/door"

int main(void) {
  // Orphans of the job become our children; nobody asks how they ended.
  signal(SIGCHLD, SIG_IGN);
  const int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un name;
  memset(&name, 0, sizeof name);
  name.sun_family = AF_UNIX;
  memcpy(name.sun_path, DOOR, sizeof DOOR);
  if (door < 0 || connect(door, (const struct sockaddr*)&name, sizeof name) != 0) return 1;
  for (;;) {
    char byte;
    if (read(door, &byte, 1) <= 0) return 0;
  }
}
