// common/shared_text.cpp - the table of texts made last.
#include "common/shared_text.h"

#include <functional>
#include <vector>

namespace rota {
namespace {

constexpr std::size_t place_count_min = 64;
constexpr std::size_t place_count_max = 8192;
constexpr std::size_t size_max = 256;

/// A place for each hash; a text that finds another in its place takes it. So whatever people send,
/// the table stays small, and the few hundred names that a cluster has find each other.
template <class Pointer>
class Table {
 public:
  Pointer& place_of(std::string_view text) {
    Pointer* place = &at(text);
    while (*place && (*place)->text != text && places_.size() < place_count_max) {
      grow();
      place = &at(text);
    }
    return *place;
  }

 private:
  Pointer& at(std::string_view text) {
    return places_[std::hash<std::string_view>()(text) % places_.size()];
  }
  void grow() {
    std::vector<Pointer> old(places_.size() * 2);
    old.swap(places_);
    for (Pointer& known : old)
      if (known) at(known->text) = std::move(known);
  }

  std::vector<Pointer> places_ = std::vector<Pointer>(place_count_min);
};

}  // namespace

SharedText::Pointer SharedText::shared(std::string_view text) {
  if (text.size() > size_max) return Pointer(new Shared(text));
  static thread_local Table<Pointer> table;
  Pointer& place = table.place_of(text);
  if (!place || place->text != text) place = Pointer(new Shared(text));
  return place;
}

const std::string& SharedText::nothing() {
  static const std::string empty;
  return empty;
}

}  // namespace rota
