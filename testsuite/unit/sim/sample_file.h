// testsuite/unit/sim/sample_file.h - a text as a file of its own, gone at the end.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "common/format.h"

namespace rota::sim {

class SampleFile {
 public:
  explicit SampleFile(std::string_view text) {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() / format("rota-sample.{}.{}", getpid(), ++count);
    std::ofstream(path_) << text;
  }
  ~SampleFile() { std::filesystem::remove(path_); }
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  std::string path() const { return path_; }
  /// An error about it, from behind its name on.
  std::string without_path(const std::string& error) const {
    return error.starts_with(path_.string()) ? error.substr(path_.string().size() + 1) : error;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rota::sim
