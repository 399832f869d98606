// model/org_keys.h - every key of projects.yaml once: reading, writing and comparing walk it.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "model/project.h"

namespace rota {

/// How a value is written, in projects.yaml and on the command line.
enum class OrgType : std::uint8_t {
  gpus,      // a decimal number with at most 6 digits behind the point
  cpus,      // the same with 3
  size,      // bytes with a unit
  number,    // digits
  flag,      // on or off
  duration,  // with units
  name,      // one word
  choice,    // one of some words
  list,      // names
  weights,   // names, each with a decimal number
};
std::string_view name_of(OrgType type);

/// One key. A value is a row of words: one for a scalar, the names of a list, "name=number" for
/// weights. `set` takes the words of the file or command line; no word at all is an empty list.
template <class T>
struct OrgKey {
  std::string_view name;  // "cpu_quota"
  OrgType type = OrgType::name;
  std::string_view default_text;  // as it would be written
  std::string_view help;          // one line
  Result<void> (*set)(T& item, const std::vector<std::string>& words) = nullptr;
  std::vector<std::string> (*get)(const T& item) = nullptr;

  bool is_list() const { return type == OrgType::list || type == OrgType::weights; }
};

/// The keys of a Project, Department, Queue or UserDefaults, in the order in which they are shown.
template <class T>
std::span<const OrgKey<T>> org_keys();
template <>
std::span<const OrgKey<Department>> org_keys<Department>();
template <>
std::span<const OrgKey<Project>> org_keys<Project>();
template <>
std::span<const OrgKey<Queue>> org_keys<Queue>();
template <>
std::span<const OrgKey<UserDefaults>> org_keys<UserDefaults>();

template <class T>
inline constexpr OrgKind org_kind_of = OrgKind::project;
template <>
inline constexpr OrgKind org_kind_of<Department> = OrgKind::department;
template <>
inline constexpr OrgKind org_kind_of<Queue> = OrgKind::queue;
template <>
inline constexpr OrgKind org_kind_of<UserDefaults> = OrgKind::user;

/// The key called `name`, or an error with the nearest one that is known.
template <class T>
Result<const OrgKey<T>*> find_org_key(std::string_view name);

/// The words as one text, as they stand on a command line: "a,b".
std::string words_text(const std::vector<std::string>& words);

/// Puts the settings into the project, in order. The error names the key.
Result<void> apply_settings(Project& project, const std::vector<OrgSetting>& settings);

}  // namespace rota
