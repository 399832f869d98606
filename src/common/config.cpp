// common/config.cpp - reads rota.yaml into a Config; the one door to libyaml.
#include "common/config.h"

#include <fcntl.h>
#include <unistd.h>
#include <yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "common/assert.h"
#include "common/config_table.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "common/units.h"

namespace rota {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t file_bytes_max = 1 << 20;

/// A place in the file, counted from 1 as editors do.
struct Mark {
  std::size_t line = 1;
  std::size_t column = 1;
};
Mark mark_of(const yaml_mark_t& mark) { return {mark.line + 1, mark.column + 1}; }

std::string_view section_of(std::string_view name) { return name.substr(0, name.find('.')); }
std::string_view short_name_of(std::string_view name) { return name.substr(name.find('.') + 1); }

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
};

/// One pass over the events of one document: sections, then keys, then scalars. Anything else is an
/// error at its place, so depth, aliases and sizes need no further bounds.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {
    yaml_parser_set_encoding(&parser_.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_.yaml, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }

  Result<Config> read() {
    if (text_.size() > file_bytes_max)
      return at({1, 1}, format("the file is over {} bytes", file_bytes_max));
    ROTA_TRY(Event event, next());  // the stream's start
    ROTA_TRY(event, next());
    if (event.yaml.type == YAML_STREAM_END_EVENT) return config_;
    ROTA_TRY(event, next());
    if (!is_empty(event)) ROTA_CHECK(read_sections(event));
    ROTA_TRY(event, next());  // the document's end
    ROTA_TRY(event, next());
    if (event.yaml.type != YAML_STREAM_END_EVENT)
      return at(event, "a second document starts here; the file must hold one");
    ROTA_CHECK(check_pairs());
    return std::move(config_);
  }

 private:
  Error at(Mark mark, std::string_view what) const {
    return {Errc::config_invalid, format("{}:{}:{}: {}", name_, mark.line, mark.column, what)};
  }
  Error at(const Event& event, std::string_view what) const {
    return at(mark_of(event.yaml.start_mark), what);
  }

  Result<Event> next() {
    Event event;
    if (yaml_parser_parse(&parser_.yaml, &event.yaml) == 0) return syntax_error();
    if (event.yaml.type == YAML_ALIAS_EVENT)
      return at(event, "aliases (*name) are not allowed here; write the value out");
    const yaml_char_t* anchor = nullptr;
    const yaml_char_t* tag = nullptr;
    if (event.yaml.type == YAML_SCALAR_EVENT) {
      anchor = event.yaml.data.scalar.anchor;
      tag = event.yaml.data.scalar.tag;
    } else if (event.yaml.type == YAML_MAPPING_START_EVENT) {
      anchor = event.yaml.data.mapping_start.anchor;
      tag = event.yaml.data.mapping_start.tag;
    }
    if (anchor != nullptr) return at(event, "anchors (&name) are not allowed here");
    if (tag != nullptr) return at(event, "tags (!name) are not allowed here");
    return event;
  }

  Error syntax_error() const {
    const yaml_parser_t& yaml = parser_.yaml;
    const char* problem = yaml.problem != nullptr ? yaml.problem : "cannot be read";
    if (yaml.error == YAML_READER_ERROR)
      return at(mark_at(yaml.problem_offset), format("{}; the file must be UTF-8 text", problem));
    const Mark mark = mark_of(yaml.problem_mark);
    if (yaml.problem_mark.index < text_.size() && tab_at(mark))
      return at(mark, "a tab stands here; YAML is indented with spaces");
    if (yaml.context != nullptr)
      return at(mark, format("{} {} that starts in line {}", problem, yaml.context,
                             yaml.context_mark.line + 1));
    return at(mark, problem);
  }

  /// Line and column of a byte; columns count characters, as libyaml's do.
  Mark mark_at(std::size_t offset) const {
    Mark mark{1, 1};
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
  bool tab_at(Mark mark) const {
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

  static std::string text_of(const Event& event) {
    const auto& scalar = event.yaml.data.scalar;
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
  }
  /// "key:" with nothing behind it, and the ways YAML spells that.
  static bool is_empty(const Event& event) {
    if (event.yaml.type != YAML_SCALAR_EVENT ||
        event.yaml.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
      return false;
    const std::string text = text_of(event);
    return text.empty() || text == "~" || text == "null";
  }

  Result<void> read_sections(const Event& start) {
    if (start.yaml.type != YAML_MAPPING_START_EVENT)
      return at(start, "sections are needed here, such as 'nodes:' with keys indented below it");
    std::map<std::string, std::size_t> lines;
    while (true) {
      ROTA_TRY(Event name, next());
      if (name.yaml.type == YAML_MAPPING_END_EVENT) return {};
      if (name.yaml.type != YAML_SCALAR_EVENT)
        return at(name, "the name of a section is needed here");
      const std::string section = text_of(name);
      ROTA_CHECK(check_section(section, name));
      ROTA_CHECK(check_once(lines, section, name));
      ROTA_TRY(Event value, next());
      if (is_empty(value)) continue;  // every key below it is commented out
      if (value.yaml.type != YAML_MAPPING_START_EVENT)
        return at(
            value,
            format("keys are needed below '{}:', each on a line of its own and indented", section));
      ROTA_CHECK(read_keys(section));
    }
  }

  Result<void> read_keys(const std::string& section) {
    std::map<std::string, std::size_t> lines;
    while (true) {
      ROTA_TRY(Event name, next());
      if (name.yaml.type == YAML_MAPPING_END_EVENT) return {};
      if (name.yaml.type != YAML_SCALAR_EVENT)
        return at(name, format("the name of a key of '{}' is needed here", section));
      const std::string full = section + "." + text_of(name);
      const ConfigKey* key = config_find(full);
      if (key == nullptr) return unknown_key(full, name);
      ROTA_CHECK(check_once(lines, full, name));
      ROTA_TRY(Event value, next());
      ROTA_CHECK(read_value(*key, value));
      marks_[key->name] = mark_of(value.yaml.start_mark);
    }
  }

  Result<void> read_value(const ConfigKey& key, const Event& value) {
    if (value.yaml.type != YAML_SCALAR_EVENT)
      return at(value, format("{} takes a {}, not a {}", key.name, key.type,
                              value.yaml.type == YAML_SEQUENCE_START_EVENT ? "list" : "mapping"));
    if (is_empty(value))
      return at(value, format("{} has no value; its default is {}", key.name, key.default_text));
    if (auto done = config_assign(config_, key.name, text_of(value)); !done)
      return at(value, done.error().detail);
    return {};
  }

  Result<void> check_once(std::map<std::string, std::size_t>& lines, const std::string& name,
                          const Event& event) const {
    const auto [place, fresh] = lines.emplace(name, event.yaml.start_mark.line + 1);
    if (fresh) return {};
    return at(event, format("{} stands here a second time; first in line {}", quoted(name),
                            place->second));
  }

  Result<void> check_section(const std::string& section, const Event& event) const {
    std::vector<std::string_view> sections;
    for (const ConfigKey& key : config_keys()) {
      if (sections.empty() || sections.back() != section_of(key.name))
        sections.push_back(section_of(key.name));
      if (section == key.name || section == short_name_of(key.name))
        return at(event, format("{} is no section; write '{}:' and below it, indented, '{}:'",
                                quoted(section), section_of(key.name), short_name_of(key.name)));
    }
    if (std::find(sections.begin(), sections.end(), section) != sections.end()) return {};
    if (const auto meant = nearest(section, sections); !meant.empty())
      return at(event, format("unknown section {}; did you mean '{}'?", quoted(section), meant));
    return at(event, format("unknown section {}; known are {}", quoted(section),
                            fmt::join(sections, ", ")));
  }

  Error unknown_key(const std::string& full, const Event& event) const {
    std::vector<std::string_view> names, of_section;
    for (const ConfigKey& key : config_keys()) {
      names.push_back(key.name);
      if (section_of(key.name) == section_of(full)) of_section.push_back(short_name_of(key.name));
    }
    if (const auto meant = nearest(full, names); !meant.empty())
      return at(event, format("unknown key {}; did you mean '{}'?", quoted(full), meant));
    return at(event, format("unknown key {}; '{}' has {}", quoted(full), section_of(full),
                            fmt::join(of_section, ", ")));
  }

  /// The place of the first of these keys that the file sets.
  Mark mark_of_any(std::initializer_list<std::string_view> names) const {
    for (const auto name : names)
      if (const auto mark = marks_.find(name); mark != marks_.end()) return mark->second;
    return {1, 1};
  }

  /// Values that are good alone and wrong together.
  Result<void> check_pairs() const {
    const Config& c = config_;
    if (c.nodes_lost_after <= c.nodes_heartbeat)
      return at(
          mark_of_any({"nodes.lost_after", "nodes.heartbeat"}),
          format("nodes.lost_after ({}) must be longer than nodes.heartbeat ({}); three times as "
                 "long is a good start",
                 duration_format(c.nodes_lost_after), duration_format(c.nodes_heartbeat)));
    if (c.nodes_fence_after != 0s && c.nodes_fence_after < c.nodes_lost_after)
      return at(mark_of_any({"nodes.fence_after", "nodes.lost_after"}),
                format("nodes.fence_after ({}) must be 0 (never) or at least nodes.lost_after ({})",
                       duration_format(c.nodes_fence_after), duration_format(c.nodes_lost_after)));
    if (c.jobs_time_limit_max != 0s && c.jobs_time_limit_default > c.jobs_time_limit_max)
      return at(mark_of_any({"jobs.time_limit_default", "jobs.time_limit_max"}),
                format("jobs.time_limit_default ({}) must be at most jobs.time_limit_max ({})",
                       duration_format(c.jobs_time_limit_default),
                       duration_format(c.jobs_time_limit_max)));
    if (c.controller_half_open_max > c.controller_sessions_max)
      return at(mark_of_any({"controller.half_open_max", "controller.sessions_max"}),
                format("controller.half_open_max ({}) must be at most controller.sessions_max ({})",
                       c.controller_half_open_max, c.controller_sessions_max));
    return {};
  }

  std::string_view text_;
  const std::string& name_;
  Parser parser_;
  Config config_;
  std::map<std::string_view, Mark> marks_;  // of the keys that the file sets
};

/// At most a piece more than allowed, so that an endless file costs nothing. In pieces, because a
/// buffer for the largest file would be half of the time that a short command takes.
Result<std::string> read_file(const std::string& path) {
  const auto failed = [&path](int error) {
    return Error{error == ENOENT ? Errc::not_found : Errc::io_failed,
                 format("cannot read the configuration {}: {}", path, std::strerror(error))};
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return failed(errno);
  std::string text;
  char piece[8192];
  while (text.size() <= file_bytes_max) {
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

/// An environment variable that stands in for a key.
Result<void> override_from_environment(Config& config, const char* variable, std::string_view key) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return {};
  if (auto done = config_assign(config, key, value); !done)
    return Error{Errc::config_invalid, format("${}: {}", variable, done.error().detail)};
  return {};
}

}  // namespace

Result<Config> config_parse(std::string_view text, const std::string& name) {
  return Reader(text, name).read();
}

Result<Config> config_load(const std::string& path) {
  ROTA_TRY(const std::string text, read_file(path));
  return config_parse(text, path);
}

Result<Config> config_default() {
  Config config;
  const char* named = std::getenv("ROTA_CONFIG");
  if (named != nullptr && *named != '\0') {
    ROTA_TRY(config, config_load(named));
  } else {
    auto found = config_load(ROTA_SYSCONFDIR "/rota/rota.yaml");
    if (found)
      config = *std::move(found);
    else if (found.error().code != Errc::not_found)
      return found.error();
  }
  ROTA_CHECK(override_from_environment(config, "ROTA_CONTROLLER", "controller.address"));
  ROTA_CHECK(override_from_environment(config, "ROTA_MUNGE_SOCKET", "munge.socket"));
  return config;
}

}  // namespace rota
