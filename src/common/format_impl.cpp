// common/format_impl.cpp - libfmt's own functions, compiled into our programs.
//
// Debian ships libfmt's compiled half only as a shared library. One rstepd starts per job, and a
// command per keystroke of its user: without a dynamic linker and this library to load, both start
// sooner. configure tries this file and falls back to -lfmt where another libfmt refuses it.
#include <fmt/format-inl.h>

// What format.h declares `extern template`, for the character type we use.
namespace fmt::detail {
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template auto locale_ref::get<std::locale>() const -> std::locale;
}  // namespace fmt::detail
