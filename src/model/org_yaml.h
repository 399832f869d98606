// model/org_yaml.h - projects.yaml: an organisation from text, and back.
#pragma once
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/yaml.h"
#include "model/project.h"

namespace rota {

/// Reads and checks a file of projects. The Org is normalized and valid: the `default` project is
/// there. Errors carry file, line, column, what is wrong and, for an unknown key or name, the
/// nearest known one: "projects.yaml:12:5: unknown key 'qouta'; did you mean 'quota'?".
Result<Org> org_load(const std::string& path);
/// The same for text that is already here; `name` stands where the file's name would.
Result<Org> org_parse(std::string_view text, const std::string& name);
/// The same for the sections as part of another file, which `name` names.
Result<Org> org_read(const YamlNode& root, const std::string& name);

/// The text that org_parse reads back as this Org (serial numbers apart): what is not as by
/// default.
std::string org_yaml(const Org& org);

}  // namespace rota
