// model/node_wish.h - which nodes a job asks for by name, type or group.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/result.h"

namespace rota {

/// Empty fields do not restrict.
struct NodeWish {
  std::string only;        // host list: nowhere else
  std::string except;      // host list: not there
  std::string constraint;  // types and groups, as constraint_parse() reads them

  bool empty() const { return only.empty() && except.empty() && constraint.empty(); }
  friend auto operator<=>(const NodeWish&, const NodeWish&) = default;
  static auto fields(auto& m) { return std::tie(m.only, m.except, m.constraint); }
};

/// What a node must be: one of the words in each of the lists.
using Constraint = std::vector<std::vector<std::string>>;

/// "a100|h100&lab": '|' is "or", '&' and ',' are "and"; '|' binds more tightly, and ( ) bind more
/// tightly than both. The error says what
/// is wrong, and in which column.
Result<Constraint> constraint_parse(std::string_view text);

/// Bounds and syntax; not whether there are such nodes.
Result<void> validate(const NodeWish& wish);

/// "of n[1-4] without n2, with 'a100|h100'"; "" for an empty one.
std::string text_of(const NodeWish& wish);

}  // namespace rota
