// model/secret.cpp - what a secret may be called, and where it may go.
#include "model/secret.h"

#include <algorithm>
#include <set>

#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"

namespace rota {
namespace {

constexpr std::string_view login_prefix = "registry/";
constexpr std::string_view registry_default = "docker.io";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Error invalid(std::string why) { return {Errc::job_invalid, std::move(why)}; }

/// A file's own name, without a directory: what lies beside it is nobody's business.
bool is_file_name(std::string_view text) {
  return !text.empty() && text.size() <= 255 && text != "." && text != ".." &&
         text.find('/') == std::string_view::npos;
}

Result<void> check_target(const SecretUse& use, bool in_image) {
  const std::string& target = use.target;
  if (target.empty()) return {};
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (target.size() > JobBounds::path_bytes_max || std::ranges::any_of(target, is_control))
    return invalid(format("the file of secret {} is no path", use.name));
  if (target.front() != '/') {
    if (is_file_name(target)) return {};
    return invalid(
        format("the file {} of secret {}: give an absolute path, or the name of a file in "
               "$ROTA_SECRETS_DIR",
               quoted(target), use.name));
  }
  if (!in_image)
    return invalid(
        format("the file {} of secret {}: without an image secrets come as variables, or as files "
               "in $ROTA_SECRETS_DIR: give a name without a directory",
               quoted(target), use.name));
  if (target.back() == '/')
    return invalid(format("the file {} of secret {} is a directory", quoted(target), use.name));
  return {};
}

}  // namespace

Result<void> validate_secret_name(std::string_view name) {
  const auto is_plain = [](char c) { return is_letter(c) || is_digit(c); };
  if (name.empty() || name.size() > SecretBounds::name_bytes_max || is_digit(name.front()) ||
      !std::ranges::all_of(name, is_plain))
    return Error{
        Errc::invalid_argument,
        format("{} is no name of a secret: 1 to {} letters, digits and underscores, and no "
               "digit first",
               quoted(name.substr(0, 200)), SecretBounds::name_bytes_max)};
  for (const std::string_view prefix : {"ROTA_", "SLURM_", "CUDA_", "NVIDIA_"})
    if (name.starts_with(prefix))
      return Error{Errc::invalid_argument,
                   format("{} cannot be a secret: names that begin with {} are the cluster's",
                          quoted(name), prefix)};
  return {};
}

Result<void> validate_secrets(const std::vector<SecretUse>& secrets, bool in_image) {
  if (secrets.size() > SecretBounds::per_job_max)
    return invalid(
        format("{} secrets, a job can have {}", secrets.size(), SecretBounds::per_job_max));
  std::set<std::string_view> variables, targets;
  for (const SecretUse& use : secrets) {
    if (auto valid = validate_secret_name(use.name); !valid) return invalid(valid.error().detail);
    ROTA_CHECK(check_target(use, in_image));
    if (use.target.empty() && !variables.insert(use.name).second)
      return invalid(format("secret {} is asked for twice", use.name));
    if (!use.target.empty() && !targets.insert(use.target).second)
      return invalid(format("two secrets for the file {}", quoted(use.target)));
  }
  return {};
}

Result<SecretUse> secret_use_parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  SecretUse use;
  use.name = text.substr(0, colon);
  ROTA_CHECK(validate_secret_name(use.name));
  if (colon == std::string_view::npos) return use;
  use.target = text.substr(colon + 1);
  if (use.target.empty())
    return Error{Errc::invalid_argument, format("the file of secret {} is missing", use.name)};
  ROTA_CHECK(check_target(use, true));
  return use;
}

std::string login_secret(std::string_view registry) {
  return std::string(login_prefix) + std::string(registry);
}

bool is_login_secret(std::string_view name) { return name.starts_with(login_prefix); }

std::string registry_of(std::string_view image) {
  const std::size_t slash = image.find('/');
  if (slash == std::string_view::npos) return std::string(registry_default);
  const std::string_view host = image.substr(0, slash);
  // As the engines see it: what has neither dot nor port is a part of a name at the default one.
  if (host != "localhost" && host.find_first_of(".:") == std::string_view::npos)
    return std::string(registry_default);
  const auto parsed = registry_parse(host);
  return parsed ? *parsed : lower_case(std::string(host));
}

Result<std::string> registry_parse(std::string_view text) {
  std::string_view host = text;
  if (const std::size_t scheme = host.find("://"); scheme != std::string_view::npos)
    host.remove_prefix(scheme + 3);
  while (host.ends_with('/')) host.remove_suffix(1);
  const auto is_plain = [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
  };
  if (host.empty() || host.size() > 255 || host.front() == '-' ||
      !std::ranges::all_of(host, is_plain))
    return Error{Errc::invalid_argument,
                 format("{} is no registry: write HOST or HOST:PORT", quoted(text.substr(0, 200)))};
  std::string name = lower_case(std::string(host));
  if (name == "index.docker.io" || name == "registry-1.docker.io")
    return std::string(registry_default);
  return name;
}

}  // namespace rota
