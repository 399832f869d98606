// model/node_wish.cpp - reads and checks what -w, -x and -C say.
#include "model/node_wish.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"

namespace rota {
namespace {

constexpr std::size_t hosts_bytes_max = 16 << 10;
constexpr std::size_t constraint_bytes_max = 1024;

Error invalid(std::string detail) { return {Errc::job_invalid, std::move(detail)}; }

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Result<void> check_hosts(std::string_view what, const std::string& hosts) {
  if (hosts.size() > hosts_bytes_max)
    return invalid(
        format("{} has {} bytes, at most {} are allowed", what, hosts.size(), hosts_bytes_max));
  if (const auto names = hostlist_expand(hosts); !names)
    return invalid(format("{}: {}", what, names.error().detail));
  return {};
}

/// Reads "a&(b|c&d)" into lists of which each must have one: an "or" of such lists is spread out.
class ConstraintReader {
 public:
  explicit ConstraintReader(std::string_view text) : text_(text) {}

  Result<Constraint> read() {
    ROTA_TRY(Constraint all, read_all(0));
    if (at_ < text_.size()) return wrong(at_, "this ')' has no '(' before it");
    return all;
  }

 private:
  /// Parts with '&' or ',' between them.
  Result<Constraint> read_all(int depth) {
    ROTA_TRY(Constraint all, read_any(depth));
    while (at_ < text_.size() && (text_[at_] == '&' || text_[at_] == ',')) {
      ++at_;
      ROTA_TRY(Constraint more, read_any(depth));
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

  /// Parts with '|' between them: (a&b)|c is a|c and b|c.
  Result<Constraint> read_any(int depth) {
    ROTA_TRY(Constraint any, read_one(depth));
    while (at_ < text_.size() && text_[at_] == '|') {
      ++at_;
      ROTA_TRY(const Constraint other, read_one(depth));
      Constraint spread;
      for (const auto& left : any)
        for (const auto& right : other) {
          auto& words = spread.emplace_back(left);
          words.insert(words.end(), right.begin(), right.end());
          if (spread.size() > parts_max || words.size() > words_max)
            return invalid(
                format("the constraint {} says too much at once; name a group of nodes "
                       "in rota.yaml",
                       quoted(text_)));
        }
      any = std::move(spread);
    }
    return any;
  }

  Result<Constraint> read_one(int depth) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const std::size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '(') {
      if (depth == depth_max) return wrong(at_, "brackets are nested too deeply");
      ++at_;
      ROTA_TRY(Constraint inside, read_all(depth + 1));
      if (at_ == text_.size()) return wrong(start, "this '(' is never closed");
      ++at_;
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
      if (at_ < text_.size() && std::string_view("|&,)").find(text_[at_]) == std::string_view::npos)
        return wrong(at_, "'|' or '&' is missing behind the ')'");
      return inside;
    }
    at_ = std::min(text_.find_first_of("|&,()", at_), text_.size());
    const std::string_view word = trimmed(text_.substr(start, at_ - start));
    if (word.empty()) return wrong(start, "the name of a type or group is missing");
    if (at_ < text_.size() && text_[at_] == '(')
      return wrong(at_, "'|' or '&' is missing before the '('");
    return Constraint{{std::string(word)}};
  }

  Error wrong(std::size_t at, std::string_view what) const {
    return invalid(format("the constraint {}, column {}: {}", quoted(text_), at + 1, what));
  }

  static constexpr int depth_max = 8;
  static constexpr std::size_t parts_max = 64;
  static constexpr std::size_t words_max = 256;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Constraint> constraint_parse(std::string_view text) {
  if (text.size() > constraint_bytes_max)
    return invalid(format("the constraint has {} bytes, at most {} are allowed", text.size(),
                          constraint_bytes_max));
  if (escaped(text) != text)
    return invalid(format("the constraint holds control characters: {}", quoted(text)));
  if (const auto at = text.find_first_of("[]*!"); at != std::string_view::npos)
    return invalid(format(
        "the constraint {}, column {}: '{}' is not understood; write types or groups of nodes "
        "with '|' (or), '&' (and) and brackets ( ) between them",
        quoted(text), at + 1, text[at]));
  return ConstraintReader(text).read();
}

Result<void> validate(const NodeWish& wish) {
  ROTA_CHECK(check_hosts("the list of nodes", wish.only));
  ROTA_CHECK(check_hosts("the list of nodes to leave out", wish.except));
  if (!wish.constraint.empty()) ROTA_CHECK(constraint_parse(wish.constraint));
  return {};
}

std::string text_of(const NodeWish& wish) {
  std::string text;
  if (!wish.only.empty()) text = format("of {}", wish.only);
  if (!wish.except.empty()) text += format("{}without {}", text.empty() ? "" : " ", wish.except);
  if (!wish.constraint.empty())
    text += format("{}with {}", text.empty() ? "" : " ", quoted(wish.constraint));
  return text;
}

}  // namespace rota
