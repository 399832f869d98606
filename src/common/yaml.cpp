// common/yaml.cpp - builds the tree from libyaml's events; the one door to libyaml.
#include "common/yaml.h"

#include <fcntl.h>
#include <unistd.h>
#include <yaml.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/assert.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota {
namespace {

YamlMark mark_of(const yaml_mark_t& mark) { return {mark.line + 1, mark.column + 1}; }

/// libyaml's own types with their ends.
struct Parser {
  yaml_parser_t yaml;
  Parser() { ROTA_ASSERT(yaml_parser_initialize(&yaml) == 1); }
  ~Parser() { yaml_parser_delete(&yaml); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
};
struct Event {
  yaml_event_t yaml{};
  Event() = default;
  Event(Event&& other) noexcept : yaml(std::exchange(other.yaml, {})) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(yaml, other.yaml);
    return *this;
  }
  ~Event() { yaml_event_delete(&yaml); }

  yaml_event_type_t type() const { return yaml.type; }
  YamlMark mark() const { return mark_of(yaml.start_mark); }
};

/// One pass over the events of one document.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name, const YamlBounds& bounds)
      : text_(text), name_(name), bounds_(bounds) {
    yaml_parser_set_encoding(&parser_.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_.yaml, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }

  Result<std::optional<YamlNode>> read() {
    if (text_.size() > bounds_.bytes_max)
      return at({1, 1}, format("the file is over {} bytes", bounds_.bytes_max));
    ROTA_TRY(Event event, next());  // the stream's start
    ROTA_TRY(event, next());
    if (event.type() == YAML_STREAM_END_EVENT) return std::optional<YamlNode>();
    ROTA_TRY(event, next());
    ROTA_TRY(YamlNode root, node(std::move(event), 1));
    ROTA_TRY(event, next());  // the document's end
    ROTA_TRY(event, next());
    if (event.type() != YAML_STREAM_END_EVENT)
      return at(event.mark(), "a second document starts here; the file must hold one");
    if (root.is_empty()) return std::optional<YamlNode>();
    return std::optional<YamlNode>(std::move(root));
  }

 private:
  Error at(YamlMark mark, std::string_view what) const { return yaml_error(name_, mark, what); }

  Result<Event> next() {
    Event event;
    if (yaml_parser_parse(&parser_.yaml, &event.yaml) == 0) return syntax_error();
    if (event.type() == YAML_ALIAS_EVENT)
      return at(event.mark(), "aliases (*name) are not allowed here; write the value out");
    const yaml_char_t* anchor = nullptr;
    const yaml_char_t* tag = nullptr;
    if (event.type() == YAML_SCALAR_EVENT) {
      anchor = event.yaml.data.scalar.anchor;
      tag = event.yaml.data.scalar.tag;
    } else if (event.type() == YAML_MAPPING_START_EVENT) {
      anchor = event.yaml.data.mapping_start.anchor;
      tag = event.yaml.data.mapping_start.tag;
    } else if (event.type() == YAML_SEQUENCE_START_EVENT) {
      anchor = event.yaml.data.sequence_start.anchor;
      tag = event.yaml.data.sequence_start.tag;
    }
    if (anchor != nullptr) return at(event.mark(), "anchors (&name) are not allowed here");
    if (tag != nullptr) return at(event.mark(), "tags (!name) are not allowed here");
    return event;
  }

  /// The value that `event` begins.
  Result<YamlNode> node(Event event, std::size_t depth) {
    YamlNode node;
    node.mark = event.mark();
    if (++count_ > bounds_.nodes_max)
      return at(node.mark, format("the file holds more than {} values", bounds_.nodes_max));
    if (depth > bounds_.depth_max)
      return at(node.mark, format("values are nested over {} deep", bounds_.depth_max));
    if (event.type() == YAML_SCALAR_EVENT) {
      const auto& scalar = event.yaml.data.scalar;
      node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
      node.plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
      return node;
    }
    const bool mapping = event.type() == YAML_MAPPING_START_EVENT;
    node.kind = mapping ? YamlNode::Kind::mapping : YamlNode::Kind::list;
    const auto end = mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    for (;;) {
      ROTA_TRY(Event inner, next());
      if (inner.type() == end) return node;
      if (mapping) {
        ROTA_TRY(YamlNode key, this->node(std::move(inner), depth + 1));
        node.keys.push_back(std::move(key));
        ROTA_TRY(inner, next());
      }
      ROTA_TRY(YamlNode item, this->node(std::move(inner), depth + 1));
      node.items.push_back(std::move(item));
    }
  }

  Error syntax_error() const {
    const yaml_parser_t& yaml = parser_.yaml;
    const char* problem = yaml.problem != nullptr ? yaml.problem : "cannot be read";
    if (yaml.error == YAML_READER_ERROR)
      return at(mark_at(yaml.problem_offset), format("{}; the file must be UTF-8 text", problem));
    const YamlMark mark = mark_of(yaml.problem_mark);
    if (yaml.problem_mark.index < text_.size() && tab_at(mark))
      return at(mark, "a tab stands here; YAML is indented with spaces");
    if (yaml.context != nullptr)
      return at(mark, format("{} {} that starts in line {}", problem, yaml.context,
                             yaml.context_mark.line + 1));
    return at(mark, problem);
  }

  /// Line and column of a byte; columns count characters, as libyaml's do.
  YamlMark mark_at(std::size_t offset) const {
    YamlMark mark{1, 1};
    for (const char c : text_.substr(0, offset)) {
      if (c == '\n') {
        ++mark.line;
        mark.column = 1;
      } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
        ++mark.column;
      }
    }
    return mark;
  }

  /// Whether the line has a tab at the mark, or only blanks with a tab before it.
  bool tab_at(YamlMark mark) const {
    std::size_t start = 0;
    for (std::size_t line = 1; line < mark.line; ++line) {
      const std::size_t end = text_.find('\n', start);
      if (end == std::string_view::npos) return false;
      start = end + 1;
    }
    const std::string_view line = text_.substr(start, text_.find('\n', start) - start);
    const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
    if (line.substr(0, first).find('\t') != std::string_view::npos && mark.column <= first + 1)
      return true;
    return mark.column <= line.size() && line[mark.column - 1] == '\t';
  }

  std::string_view text_;
  const std::string& name_;
  const YamlBounds& bounds_;
  Parser parser_;
  std::size_t count_ = 0;
};

/// Whether YAML reads it back as this text when it stands without quotes, in a block or in a list.
bool is_plain_safe(std::string_view text) {
  if (text.empty() || text.size() > 200 || !std::isalnum(static_cast<unsigned char>(text.front())))
    return false;
  if (text == "null") return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/' || c == '@' || c == '+';
  });
}

}  // namespace

bool YamlNode::is_empty() const {
  return is_scalar() && plain && (text.empty() || text == "~" || text == "null");
}

Result<std::optional<YamlNode>> yaml_parse(std::string_view text, const std::string& name,
                                           const YamlBounds& bounds) {
  return Reader(text, name, bounds).read();
}

Error yaml_error(const std::string& name, YamlMark mark, std::string_view what) {
  return {Errc::config_invalid, format("{}:{}:{}: {}", name, mark.line, mark.column, what)};
}

Result<void> YamlOnce::check(const std::string& file, std::string_view name, YamlMark mark) {
  const auto [place, fresh] = lines_.emplace(name, mark.line);
  if (fresh) return {};
  return yaml_error(
      file, mark,
      format("{} stands here a second time; first in line {}", quoted(name), place->second));
}

Result<std::string> yaml_read_file(const std::string& path, std::string_view what,
                                   std::size_t bytes_max) {
  const auto failed = [&](int error) {
    return Error{error == ENOENT ? Errc::not_found : Errc::io_failed,
                 format("cannot read {} {}: {}", what, path, std::strerror(error))};
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return failed(errno);
  std::string text;
  // In pieces, because a buffer for the largest file would be half of the time that a short command
  // takes.
  char piece[8192];
  while (text.size() <= bytes_max) {
    const ssize_t count = read(fd, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      close(fd);
      return failed(error);
    }
    if (count == 0) break;
    text.append(piece, static_cast<std::size_t>(count));
  }
  close(fd);
  return text;
}

std::string yaml_scalar(std::string_view text) {
  if (is_plain_safe(text)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c;
    if (c == '\'') quoted += c;
  }
  return quoted + "'";
}

}  // namespace rota
