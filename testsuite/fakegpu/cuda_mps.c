// testsuite/fakegpu/cuda_mps.c - the fake CUDA driver as a client of MPS: where a daemon lives in
// the pipe directory, it is one; where none does, it is an ordinary process and says nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cuda_core.h"

bool cuda_find_mps(void) {
  const char* directory = getenv("CUDA_MPS_PIPE_DIRECTORY");
  if (directory == NULL || directory[0] == '\0') directory = "/tmp/nvidia-mps";
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/control", directory);
  if (length < 0 || (size_t)length >= sizeof address.sun_path) return false;
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct timeval patience = {.tv_sec = 5};
  char answer[8] = "";
  bool found = false;
  if (connection >= 0 &&
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
      connect(connection, (const struct sockaddr*)&address, sizeof address) == 0 &&
      send(connection, "client\n", 7, MSG_NOSIGNAL) == 7) {
    found = recv(connection, answer, sizeof answer - 1, 0) > 0 && strncmp(answer, "ok", 2) == 0;
  }
  if (connection >= 0) close(connection);
  return found;
}

// From Volta on a client sees as many multiprocessors as it may use.
unsigned int cuda_mps_multiprocessors(const FakeModel* model) {
  const char* text = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  const double percent = text != NULL ? atof(text) : 100;
  if (percent <= 0 || percent >= 100 || model->compute_major < 7) {
    return (unsigned int)model->multiprocessors;
  }
  const double share = (double)model->multiprocessors * percent / 100;
  const unsigned int whole = (unsigned int)share;
  return share > (double)whole ? whole + 1 : whole;
}
