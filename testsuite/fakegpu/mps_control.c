// testsuite/fakegpu/mps_control.c - a stand-in for nvidia-cuda-mps-control: the daemon (-d) that
// MPS clients ask for a server, and the program that passes it commands from standard input.
//
// Each command is one connection to the socket `control` in the pipe directory. What the fake
// libcuda.so.1 says there ("client") is between the two of them.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { line_max = 256, path_max = 4096 };

static const char* pipe_directory(void) {
  const char* path = getenv("CUDA_MPS_PIPE_DIRECTORY");
  return path != NULL && path[0] != '\0' ? path : "/tmp/nvidia-mps";
}

static bool path_in(const char* directory, const char* name, char path[path_max]) {
  return snprintf(path, path_max, "%s/%s", directory, name) < path_max;
}

static bool control_address(struct sockaddr_un* address) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  const int length =
      snprintf(address->sun_path, sizeof address->sun_path, "%s/control", pipe_directory());
  return length > 0 && (size_t)length < sizeof address->sun_path;
}

// ---- the daemon ----

static FILE* log_file;
static pid_t server;  // 0: none yet
static int lock;      // held by the daemon to its end

static void note(const char* text) {
  if (log_file == NULL) return;
  fprintf(log_file, "%s\n", text);
  fflush(log_file);
}

// A process that waits for the daemon's end, as nvidia-cuda-mps-server is there while clients are.
static void start_server(int connection, int listening) {
  if (server != 0) return;
  note("Starting new server");
  server = fork();
  if (server != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
  close(connection);
  close(listening);
  close(lock);
  for (;;) pause();
}

static void answer(int connection, int listening, const char* command) {
  char text[line_max] = "";
  if (strcmp(command, "client") == 0) {
    start_server(connection, listening);
    snprintf(text, sizeof text, "ok\n");
  } else if (strcmp(command, "get_server_list") == 0) {
    if (server != 0) snprintf(text, sizeof text, "%d\n", (int)server);
  } else if (strcmp(command, "get_default_active_thread_percentage") == 0) {
    snprintf(text, sizeof text, "100.0\n");
  } else if (strcmp(command, "quit") != 0) {
    snprintf(text, sizeof text, "Unknown command: %.100s\n", command);
  }
  send(connection, text, strlen(text), MSG_NOSIGNAL);
}

static void serve(int listening) {
  for (bool goes_on = true; goes_on;) {
    const int connection = accept(listening, NULL, NULL);
    if (connection < 0) continue;
    // Who connects and says nothing must not keep the others waiting.
    const struct timeval patience = {.tv_sec = 2};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char command[line_max] = "";
    const ssize_t length = recv(connection, command, sizeof command - 1, 0);
    if (length > 0) {
      command[strcspn(command, "\n")] = '\0';
      answer(connection, listening, command);
      goes_on = strcmp(command, "quit") != 0;
    }
    // The end of a quit shows when the daemon is gone.
    if (goes_on) close(connection);
  }
}

static int daemon_main(int listening, int ready) {
  char path[path_max];
  const char* logs = getenv("CUDA_MPS_LOG_DIRECTORY");
  if (path_in(logs != NULL ? logs : "/var/log/nvidia-mps", "control.log", path)) {
    log_file = fopen(path, "ae");
  }
  if (!path_in(pipe_directory(), "nvidia-cuda-mps-control.pid", path)) return 1;
  FILE* pid_file = fopen(path, "we");
  if (pid_file == NULL) return 1;
  fprintf(pid_file, "%d\n", (int)getpid());
  fclose(pid_file);
  note("Start");
  if (write(ready, "r", 1) != 1) return 1;
  close(ready);
  serve(listening);
  note("Exit");
  if (server != 0) kill(server, SIGKILL);
  unlink(path);
  struct sockaddr_un address;
  if (control_address(&address)) unlink(address.sun_path);
  return 0;
}

static int fail(const char* text) {
  fprintf(stderr, "%s\n", text);
  return 1;
}

static int start_daemon(void) {
  char path[path_max];
  struct sockaddr_un address;
  if (!control_address(&address)) return fail("The pipe directory's name is too long");
  mkdir(pipe_directory(), 0755);
  if (!path_in(pipe_directory(), "control_lock", path)) return 1;
  lock = open(path, O_RDWR | O_CREAT, 0666);
  if (lock < 0) return fail("Failed to open the lock file: Insufficient permission");
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return fail("An instance of this daemon is already running");
  }
  unlink(address.sun_path);
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int ready[2];
  if (listening < 0 || bind(listening, (struct sockaddr*)&address, sizeof address) != 0 ||
      listen(listening, 64) != 0 || pipe(ready) != 0) {
    return fail(strerror(errno));
  }
  const pid_t pid = fork();
  if (pid < 0) return fail(strerror(errno));
  if (pid == 0) {
    setsid();
    signal(SIGCHLD, SIG_IGN);
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
    close(ready[0]);
    _exit(daemon_main(listening, ready[1]));
  }
  close(ready[1]);
  char word = 0;
  return read(ready[0], &word, 1) == 1 ? 0 : fail("The daemon did not start");
}

// ---- its commands ----

static int pass_on(const char* command) {
  struct sockaddr_un address;
  const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  if (!control_address(&address) || connection < 0 ||
      connect(connection, (struct sockaddr*)&address, sizeof address) != 0) {
    return fail("Cannot find MPS control daemon process");
  }
  send(connection, command, strlen(command), MSG_NOSIGNAL);
  char text[line_max];
  for (ssize_t length; (length = recv(connection, text, sizeof text, 0)) > 0;) {
    fwrite(text, 1, (size_t)length, stdout);
  }
  close(connection);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "-d") == 0) return start_daemon();
  if (argc != 1) return fail("Usage: nvidia-cuda-mps-control [-d]");
  char command[line_max];
  int code = 0;
  while (code == 0 && fgets(command, sizeof command, stdin) != NULL) code = pass_on(command);
  return code;
}
