// sim/progress.h - how far a long run has come, for a person who watches.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace rota::sim {

/// One line on standard error, written over and over and gone at the end. Nothing is written where
/// standard error is no terminal.
class Progress {
 public:
  /// `label` names the run; there are `all` steps of it.
  Progress(std::string_view label, std::size_t all);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool is_shown() const { return is_shown_; }
  void show(std::size_t done);

  /// "replay [=====     ]  50 %".
  static std::string line(std::string_view label, std::size_t done, std::size_t all);

 private:
  std::string label_, last_;
  std::size_t all_;
  bool is_shown_;
};

}  // namespace rota::sim
