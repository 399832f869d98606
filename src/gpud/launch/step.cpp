// gpud/launch/step.cpp - rstepd: runs one job on one node, and outlives the rgpud that asked for
// it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "gpud/launch/nursery.h"

namespace {

constexpr char help[] =
    "Usage: rstepd --nursery NAME\n"
    "\n"
    "Runs the jobs of one node. Started by rgpud, never by hand; see rstepd(8).\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(help, stdout);
    return 0;
  }
  struct stat status {};
  if (argc != 3 || std::strcmp(argv[1], "--nursery") != 0 ||
      ::fstat(rota::gpud::nursery_fd, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    std::fputs("rstepd: is started by rgpud, not by hand; see rstepd(8)\n", stderr);
    return 2;
  }
  ::umask(077);
  // The job's standard input, when it names none; and nothing of ours may reach its output.
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0 || ::chdir("/") != 0) return 1;
  for (const int fd : {0, 1, 2})
    if (fd != null) ::dup2(null, fd);
  if (null > 2) ::close(null);
  char* const title = argv[1];
  rota::gpud::nursery_run(title, static_cast<std::size_t>(argv[2] + std::strlen(argv[2]) - title));
  return 0;
}
