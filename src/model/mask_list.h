// model/mask_list.h - what is not to be shown of a job's output.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace rota {

/// How a secret line begins, and how long it is: where the beginning is found, so many bytes of the
/// line are hidden. That hides at least what comparing all of it would, and stays small.
struct Mask {
  std::string start;
  std::uint32_t size = 0;
  friend bool operator==(const Mask&, const Mask&) = default;
  static auto fields(auto& m) { return std::tie(m.start, m.size); }
};

struct MaskList {
  static constexpr std::size_t line_bytes_min = 6;  // shorter ones stand in many a word
  static constexpr std::size_t start_bytes_max = 32;
  static constexpr std::size_t bytes_max = 40 << 10;  // of all; a ticket is a small message

  std::vector<Mask> masks;

  /// Each line of a secret, without blanks around it.
  void add(std::string_view secret);
  bool fits() const;

  friend bool operator==(const MaskList&, const MaskList&) = default;
  static auto fields(auto& m) { return std::tie(m.masks); }
};

}  // namespace rota
