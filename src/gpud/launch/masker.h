// gpud/launch/masker.h - hides secrets in a stream of bytes, however it is cut into pieces.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/mask_list.h"

namespace rota::gpud {

/// Puts `***` for each stretch that is to be hidden. Looks at each byte once, whatever the masks
/// are (Aho and Corasick), and keeps back only what may be the beginning of one.
class Masker {
 public:
  explicit Masker(const MaskList& list);

  /// Adds to `output` what can be shown by now.
  void take(std::string_view input, std::string& output);
  /// No more is to come.
  void finish(std::string& output);

 private:
  using State = std::uint16_t;
  struct Node {
    std::array<State, 256> next{};
    std::uint16_t depth = 0;
    std::uint16_t hides_before = 0;  // so many bytes up to here are hidden; 0: nothing ends here
    std::uint32_t hides_after = 0;   // and so many of the line behind
  };

  void add(const Mask& mask);
  void link();
  void show(std::size_t count, std::string& output);

  std::vector<Node> nodes_;
  State state_ = 0;
  std::string kept_;    // not shown yet: as much as may be the beginning of a mask
  std::string hidden_;  // for each byte of it, 1 when it is hidden
  std::uint32_t hides_ = 0;
  bool is_hiding_ = false;  // the `***` for the last byte shown stands already
};

}  // namespace rota::gpud
