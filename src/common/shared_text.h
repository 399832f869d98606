// common/shared_text.h - short text that very many records have in common.
#pragma once
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <compare>
#include <string>
#include <string_view>

namespace rota {

/// Takes the room of a pointer. What is equal shares its memory, as far as a small table of the
/// thread remembers what was made last: the names of projects and users on a million jobs.
class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string_view text) : shared_(text.empty() ? nullptr : shared(text)) {}
  SharedText(const std::string& text) : SharedText(std::string_view(text)) {}
  SharedText(const char* text) : SharedText(std::string_view(text)) {}

  const std::string& str() const { return shared_ ? shared_->text : nothing(); }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return shared_ == nullptr; }
  std::size_t size() const { return str().size(); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.shared_ == b.shared_ || a.str() == b.str();
  }
  friend bool operator==(const SharedText& a, std::string_view b) { return a.str() == b; }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.str() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.str() == b; }
  friend auto operator<=>(const SharedText& a, const SharedText& b) { return a.str() <=> b.str(); }

 private:
  struct Shared : boost::intrusive_ref_counter<Shared, boost::thread_safe_counter> {
    explicit Shared(std::string_view from) : text(from) {}
    const std::string text;
  };
  using Pointer = boost::intrusive_ptr<const Shared>;

  static Pointer shared(std::string_view text);
  static const std::string& nothing();

  Pointer shared_;
};

}  // namespace rota
