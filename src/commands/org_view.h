// commands/org_view.h - projects, departments, queues and users as rows and as JSON.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "commands/json.h"
#include "commands/org_ask.h"
#include "commands/table.h"
#include "model/project.h"

namespace rota::commands {

/// The lines of projects among the shares, by name.
class ProjectShares {
 public:
  explicit ProjectShares(const std::vector<ShareView>& shares);
  /// An empty one when there is none.
  const ShareView& of(const std::string& project) const;

 private:
  std::map<std::string, ShareView, std::less<>> by_name_;
  ShareView none_;
};

/// One row each, in the order of names.
Table department_table(const Org& org);
Table project_table(const OrgAnswer& answer);
Table queue_table(const Org& org);
Table user_table(const Org& org);

/// Every key of a project and its value, "key: value", one a line, and what its jobs hold.
std::string project_text(const Project& project, const ShareView& share);

/// The same of a queue.
std::string queue_text(const Queue& queue);

void write_department(JsonWriter& json, const Department& department);
void write_project(JsonWriter& json, const Project& project, const ShareView& share);
void write_queue(JsonWriter& json, const Queue& queue);
void write_user(JsonWriter& json, const UserDefaults& user);

}  // namespace rota::commands
