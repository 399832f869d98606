// model/org_diff.cpp - walks two organisations side by side.
#include "model/org_diff.h"

#include "common/escape.h"
#include "common/format.h"
#include "model/org_keys.h"

namespace rota {
namespace {

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (requires { a.serial; }) {
    T twin = b;
    twin.serial = a.serial;
    return a == twin;
  } else {
    return a == b;
  }
}

std::string shown(const std::vector<std::string>& words, bool list) {
  return list ? format("[{}]", fmt::join(words, ", ")) : escaped(words_text(words));
}

/// " quota 2 in department 'research', limit 4": what is not as by default.
template <class T>
std::string described(const T& item) {
  std::string text;
  const T plain{};
  const auto& keys = org_keys<T>();
  std::string home;
  for (const auto& key : keys) {
    const auto words = key.get(item);
    if (key.name == "department" || key.name == "parent") {
      if (words != key.get(plain)) home = words.front();
      continue;
    }
    const bool always = key.name == "quota";
    if (words == key.get(plain) && !always) continue;
    text += format("{} {} {}", text.empty() ? "" : ",", key.name, shown(words, key.is_list()));
    if (always && !home.empty()) text += format(" in department {}", escaped(home));
  }
  return text;
}

template <class T>
void append(const std::vector<T>& before, const std::vector<T>& after,
            std::vector<std::string>& lines) {
  const std::string_view kind = name_of(org_kind_of<T>);
  for (const OrgStep<T>& step : steps_between(before, after)) {
    if (step.before == nullptr) {
      lines.push_back(format("+ {} {}{}", kind, escaped(step.after->name), described(*step.after)));
      continue;
    }
    const std::string name = format("{} {}", kind, escaped(step.before->name));
    if (step.after == nullptr) {
      lines.push_back("- " + name);
      continue;
    }
    for (const auto& key : org_keys<T>()) {
      const auto old_words = key.get(*step.before), new_words = key.get(*step.after);
      if (old_words != new_words)
        lines.push_back(format("{}: {} {} -> {}", name, key.name, shown(old_words, key.is_list()),
                               shown(new_words, key.is_list())));
    }
  }
}

}  // namespace

template <class T>
std::vector<OrgStep<T>> steps_between(const std::vector<T>& before, const std::vector<T>& after) {
  std::vector<OrgStep<T>> steps;
  auto a = before.begin();
  auto b = after.begin();
  while (a != before.end() || b != after.end()) {
    if (b == after.end() || (a != before.end() && a->name < b->name)) {
      steps.push_back({&*a++, nullptr});
    } else if (a == before.end() || b->name < a->name) {
      steps.push_back({nullptr, &*b++});
    } else {
      if (!same(*a, *b)) steps.push_back({&*a, &*b});
      ++a;
      ++b;
    }
  }
  return steps;
}
template std::vector<OrgStep<Department>> steps_between(const std::vector<Department>&,
                                                        const std::vector<Department>&);
template std::vector<OrgStep<Project>> steps_between(const std::vector<Project>&,
                                                     const std::vector<Project>&);
template std::vector<OrgStep<Queue>> steps_between(const std::vector<Queue>&,
                                                   const std::vector<Queue>&);
template std::vector<OrgStep<UserDefaults>> steps_between(const std::vector<UserDefaults>&,
                                                          const std::vector<UserDefaults>&);

std::vector<std::string> difference(const Org& before, const Org& after) {
  std::vector<std::string> lines;
  append(before.departments, after.departments, lines);
  append(before.projects, after.projects, lines);
  append(before.queues, after.queues, lines);
  append(before.users, after.users, lines);
  return lines;
}

}  // namespace rota
