// model/org_yaml.cpp - reads projects.yaml by the tables of keys, and writes it.
#include "model/org_yaml.h"

#include <array>
#include <map>
#include <tuple>

#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "common/yaml.h"
#include "model/org_keys.h"

namespace rota {
namespace {

/// 100,000 projects with all that may be said of them.
constexpr YamlBounds bounds{.bytes_max = 16 << 20, .nodes_max = 4'000'000, .depth_max = 6};

constexpr std::array<std::string_view, 4> sections{"departments", "projects", "queues", "users"};

/// Where things stand in the file, so that a fault of the whole can be told at its place.
using Place = std::tuple<OrgKind, std::string, std::string>;  // kind, name, key

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  /// Nothing is an organisation too: only the `default` project.
  Result<Org> read(const YamlNode* root) {
    Org org;
    if (root != nullptr) ROTA_CHECK(read_sections(*root, org));
    normalize(org);
    if (const auto fault = find_fault(org)) return place_of(*fault);
    return org;
  }

 private:
  Error at(const YamlNode& node, std::string_view what) const {
    return yaml_error(file_, node.mark, what);
  }

  Result<void> read_sections(const YamlNode& root, Org& org) {
    if (!root.is_mapping())
      return at(root, "sections are needed here, such as 'projects:' with names indented below it");
    YamlOnce once;
    for (std::size_t i = 0; i < root.keys.size(); ++i) {
      const YamlNode& name = root.keys[i];
      const YamlNode& value = root.items[i];
      if (!name.is_scalar()) return at(name, "the name of a section is needed here");
      ROTA_CHECK(once.check(file_, name.text, name.mark));
      ROTA_CHECK(read_section(name, value, org));
    }
    return {};
  }

  Result<void> read_section(const YamlNode& name, const YamlNode& value, Org& org) {
    if (name.text == sections[0]) return read_items(name.text, value, org.departments);
    if (name.text == sections[1]) return read_items(name.text, value, org.projects);
    if (name.text == sections[2]) return read_items(name.text, value, org.queues);
    if (name.text == sections[3]) return read_items(name.text, value, org.users);
    return unknown_section(name);
  }

  Error unknown_section(const YamlNode& name) const {
    const auto meant = nearest(name.text, sections);
    return at(name, meant.empty() ? format("unknown section {}; known are {}", quoted(name.text),
                                           fmt::join(sections, ", "))
                                  : format("unknown section {}; did you mean '{}'?",
                                           quoted(name.text), meant));
  }

  template <class T>
  Result<void> read_items(const std::string& section, const YamlNode& value, std::vector<T>& list) {
    if (value.is_empty()) return {};
    const std::string_view kind = name_of(org_kind_of<T>);
    if (!value.is_mapping())
      return at(value, format("names are needed below '{}:', each on a line of its own and "
                              "indented, and each {}'s keys below its name",
                              section, kind));
    YamlOnce once;
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      const YamlNode& name = value.keys[i];
      if (!name.is_scalar()) return at(name, format("the name of a {} is needed here", kind));
      ROTA_CHECK(once.check(file_, name.text, name.mark));
      T item;
      item.name = name.text;
      marks_[{org_kind_of<T>, item.name, ""}] = name.mark;
      ROTA_CHECK(read_keys(value.items[i], item));
      list.push_back(std::move(item));
    }
    return {};
  }

  template <class T>
  Result<void> read_keys(const YamlNode& value, T& item) {
    if (value.is_empty()) return {};  // all as by default
    if (!value.is_mapping())
      return at(value, format("keys are needed below '{}:', such as '{}: {}'", escaped(item.name),
                              org_keys<T>().front().name, org_keys<T>().front().default_text));
    YamlOnce once;
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      const YamlNode& name = value.keys[i];
      if (!name.is_scalar()) return at(name, "the name of a key is needed here");
      const auto key = find_org_key<T>(name.text);
      if (!key) return at(name, key.error().detail);
      ROTA_CHECK(once.check(file_, name.text, name.mark));
      ROTA_TRY(const auto words, words_of(**key, value.items[i]));
      if (auto done = (*key)->set(item, words); !done)
        return at(value.items[i], format("{}: {}", name.text, done.error().detail));
      marks_[{org_kind_of<T>, item.name, name.text}] = value.items[i].mark;
    }
    return {};
  }

  template <class T>
  Result<std::vector<std::string>> words_of(const OrgKey<T>& key, const YamlNode& value) const {
    const auto takes = [&](std::string_view what) {
      return at(value, format("{} takes a {}, not a {}", key.name, name_of(key.type), what));
    };
    if (value.is_empty())
      return at(value, format("{} has no value; its default is {}", key.name, key.default_text));
    std::vector<std::string> words;
    if (value.is_scalar()) {
      if (key.is_list() && value.text != "none")
        return at(value, format("{} takes a {}; write {}", key.name, name_of(key.type),
                                key.type == OrgType::list ? format("[{}]", value.text.substr(0, 40))
                                                          : std::string("{name: number}")));
      words.push_back(value.text);
      return words;
    }
    if (value.is_list() != (key.type == OrgType::list) ||
        value.is_mapping() != (key.type == OrgType::weights))
      return takes(value.is_list() ? "list" : "mapping");
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const YamlNode& item = value.items[i];
      if (!item.is_scalar() || item.is_empty() ||
          (value.is_mapping() && !value.keys[i].is_scalar()))
        return at(item, "a plain value is needed here");
      words.push_back(value.is_mapping() ? value.keys[i].text + "=" + item.text : item.text);
    }
    return words;
  }

  /// The fault at the value that it is about, else at the name, else at the top.
  Error place_of(const OrgFault& fault) const {
    auto mark = marks_.find({fault.kind, fault.name, fault.key});
    if (mark != marks_.end()) return yaml_error(file_, mark->second, fault.what);
    mark = marks_.find({fault.kind, fault.name, ""});
    return yaml_error(file_, mark != marks_.end() ? mark->second : YamlMark{}, fault.text());
  }

  const std::string& file_;
  std::map<Place, YamlMark> marks_;
};

template <class T>
std::string value_text(const OrgKey<T>& key, const std::vector<std::string>& words) {
  if (!key.is_list()) return yaml_scalar(words.front());
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    const std::size_t equals = word.rfind('=');
    text += key.type == OrgType::list
                ? yaml_scalar(word)
                : format("{}: {}", yaml_scalar(word.substr(0, equals)), word.substr(equals + 1));
  }
  return key.type == OrgType::list ? "[" + text + "]" : "{" + text + "}";
}

template <class T>
void append_items(std::string& out, std::string_view section, const std::vector<T>& list) {
  if (list.empty()) return;
  out += format("{}{}:\n", out.empty() ? "" : "\n", section);
  const T plain{};
  for (const T& item : list) {
    out += format("  {}:\n", yaml_scalar(item.name));
    for (const OrgKey<T>& key : org_keys<T>()) {
      const auto words = key.get(item);
      if (words != key.get(plain)) out += format("    {}: {}\n", key.name, value_text(key, words));
    }
  }
}

}  // namespace

Result<Org> org_parse(std::string_view text, const std::string& name) {
  ROTA_TRY(const auto root, yaml_parse(text, name, bounds));
  return Reader(name).read(root ? &*root : nullptr);
}

Result<Org> org_read(const YamlNode& root, const std::string& name) {
  return Reader(name).read(&root);
}

Result<Org> org_load(const std::string& path) {
  ROTA_TRY(const std::string text, yaml_read_file(path, "the projects", bounds.bytes_max));
  return org_parse(text, path);
}

std::string org_yaml(const Org& org) {
  std::string out;
  append_items(out, sections[0], org.departments);
  append_items(out, sections[1], org.projects);
  append_items(out, sections[2], org.queues);
  append_items(out, sections[3], org.users);
  return out;
}

}  // namespace rota
