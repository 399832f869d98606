// model/org_diff.h - what lies between two organisations: as lines for people, as parts to store.
#pragma once
#include <string>
#include <vector>

#include "model/project.h"

namespace rota {

/// One project, department, queue or user that differs. `before` or `after` is nullptr where it is
/// not there. Refers to the two Orgs.
template <class T>
struct OrgStep {
  const T* before = nullptr;
  const T* after = nullptr;
};

/// What differs between two lists in the order of names; serial numbers do not count.
template <class T>
std::vector<OrgStep<T>> steps_between(const std::vector<T>& before, const std::vector<T>& after);

/// The difference of two normalized Orgs in lines, departments first:
///   + project team-e quota 2 in department research
///   project team-a: quota 4 -> 8
///   - queue old
std::vector<std::string> difference(const Org& before, const Org& after);

}  // namespace rota
