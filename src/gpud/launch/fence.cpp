// gpud/launch/fence.cpp - one small file, replaced as a whole.
#include "gpud/launch/fence.h"

#include <unistd.h>

#include <cstdlib>

#include "gpud/launch/file.h"

namespace rota::gpud {

void write_fence(const std::string& spool_dir, std::optional<MonoTime> deadline) {
  const std::string path = spool_dir + "/fence";
  if (!deadline) {
    ::unlink(path.c_str());
    return;
  }
  // A deadline that cannot be moved ends the runs too early, never too late.
  file_replace(path, std::to_string(deadline->nanoseconds) + "\n");
}

std::optional<MonoTime> read_fence(const std::string& spool_dir) {
  const std::string text = file_read(spool_dir + "/fence", 64);
  if (text.empty() || text.back() != '\n') return std::nullopt;
  char* end = nullptr;
  const long long nanoseconds = std::strtoll(text.c_str(), &end, 10);
  if (nanoseconds <= 0 || *end != '\n') return std::nullopt;
  return MonoTime{nanoseconds};
}

}  // namespace rota::gpud
