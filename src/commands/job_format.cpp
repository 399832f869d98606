// commands/job_format.cpp - reads and fills -o formats.
#include "commands/job_format.h"

#include "commands/table.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

constexpr std::size_t width_max = 1000;

const JobField* field_by_letter(char letter) {
  for (const JobField& field : job_fields())
    if (field.letter == letter && letter != 0) return &field;
  return nullptr;
}

const JobField* field_by_name(std::string_view name) {
  for (const JobField& field : job_fields())
    if (field.name == name) return &field;
  return nullptr;
}

std::string known_fields() {
  std::string text;
  for (const JobField& field : job_fields()) {
    if (!text.empty()) text += ", ";
    text += field.letter != 0 ? format("%{} ({})", field.letter, field.name)
                              : format("%{{{}}}", field.name);
  }
  return text;
}

Error format_error(std::size_t at, std::string_view what) {
  return {Errc::usage, format("column {}: {}", at + 1, what)};
}

/// The letter or {name} at `at`, which moves behind it.
Result<const JobField*> read_field(std::string_view text, std::size_t start, std::size_t& at) {
  if (at == text.size())
    return format_error(start, "the format ends after %; write %% for a percent sign");
  const JobField* field = nullptr;
  if (text[at] == '{') {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) return format_error(at, "this { has no }");
    field = field_by_name(text.substr(at + 1, end - at - 1));
    at = end + 1;
  } else {
    field = field_by_letter(text[at++]);
  }
  if (field == nullptr)
    return format_error(start, format("unknown field {}; known are {}",
                                      quoted(text.substr(start, at - start)), known_fields()));
  return field;
}

void append_filled(std::string& out, std::string_view text, std::size_t width, bool right) {
  if (width == 0) {
    out += text;
    return;
  }
  text = cut_to(text, width);
  const std::size_t padding = width - columns_of(text);
  if (right) out.append(padding, ' ');
  out += text;
  if (!right) out.append(padding, ' ');
}

}  // namespace

Result<JobFormat> JobFormat::parse(std::string_view text) {
  JobFormat format_;
  std::string literal;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at++;
    if (text[start] != '%') {
      literal += text[start];
      continue;
    }
    if (at < text.size() && text[at] == '%') {
      literal += text[at++];
      continue;
    }
    Part part;
    part.right = at < text.size() && text[at] == '.';
    if (part.right) ++at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && part.width <= width_max)
      part.width = part.width * 10 + static_cast<std::size_t>(text[at++] - '0');
    if (part.width > width_max)
      return format_error(start, format("the width is over {}", width_max));
    ROTA_TRY(part.field, read_field(text, start, at));
    part.literal = std::move(literal);
    literal.clear();
    format_.parts_.push_back(std::move(part));
  }
  if (!literal.empty()) format_.parts_.push_back({std::move(literal), nullptr, 0, false});
  return format_;
}

void JobFormat::append_header(std::string& out) const {
  for (const Part& part : parts_) {
    out += part.literal;
    if (part.field != nullptr) append_filled(out, part.field->header, part.width, part.right);
  }
  out += '\n';
}

void JobFormat::append_row(std::string& out, const JobView& job) const {
  std::string value;
  for (const Part& part : parts_) {
    out += part.literal;
    if (part.field == nullptr) continue;
    value.clear();
    part.field->append(value, job);
    append_filled(out, printable(value), part.width, part.right);
  }
  out += '\n';
}

}  // namespace rota::commands
