// gpud/container/logins.cpp - one line for each image, and the engines' ways to be told a login.
#include "gpud/container/logins.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstring>
#include <string_view>

#include "common/format.h"
#include "common/log.h"
#include "common/units.h"
#include "gpud/launch/file.h"
#include "model/secret.h"

namespace rota::gpud {
namespace {

constexpr std::size_t file_bytes_max = 16 << 20;

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::string base64(std::string_view bytes, bool for_url) {
  const std::string_view digits =
      for_url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
              : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

ImageLogins::ImageLogins(std::string path) : path_(std::move(path)) { read(); }

void ImageLogins::read() {
  if (path_.empty()) return;
  const std::string text = file_read(path_, file_bytes_max);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::vector<std::string> words = words_of(std::string_view(text).substr(at, end - at));
    at = end + 1;
    const auto kind =
        words.size() < 3 ? Result<std::uint64_t>(Error{}) : number_parse(words[1], 255);
    if (!kind || (words[0] != "image" && words[0] != "pull")) {
      log::warning("{} has a line that means nothing", path_);
      continue;
    }
    const Name name(static_cast<ContainerKind>(*kind), words[2]);
    if (words[0] == "pull") {
      left_over_.insert(name);
      continue;
    }
    auto& users = images_[name];
    for (std::size_t i = 3; i < words.size(); ++i)
      if (const auto uid = number_parse(words[i], UINT32_MAX))
        users.insert(static_cast<std::uint32_t>(*uid));
  }
}

Result<void> ImageLogins::write() const {
  if (path_.empty()) return {};
  std::string text;
  for (const auto& [name, users] : images_)
    text += format("image {} {}{}{}\n", static_cast<int>(name.first), name.second,
                   users.empty() ? "" : " ", fmt::join(users, " "));
  for (const auto* list : {&pulls_, &left_over_})
    for (const Name& name : *list)
      text += format("pull {} {}\n", static_cast<int>(name.first), name.second);
  if (const int error = file_replace(path_, text, 0600, true))
    return Error{Errc::io_failed, format("cannot write {}: {}", path_, strerrordesc_np(error))};
  return {};
}

bool ImageLogins::is_private(ContainerKind kind, const std::string& id) const {
  return images_.contains({kind, id});
}

bool ImageLogins::may_use(ContainerKind kind, const std::string& id,
                          std::optional<std::uint32_t> who) const {
  const auto found = images_.find({kind, id});
  return found == images_.end() || (who && found->second.contains(*who));
}

Result<void> ImageLogins::begin_pull(ContainerKind kind, const std::string& name) {
  pulls_.insert({kind, name});
  return write();
}

void ImageLogins::end_pull(ContainerKind kind, const std::string& name) {
  pulls_.erase({kind, name});
  if (const auto written = write(); !written) log::warning("{}", written.error().detail);
}

Result<void> ImageLogins::pulled(ContainerKind kind, const std::string& name, const std::string& id,
                                 std::optional<std::uint32_t> who) {
  bool is_news = pulls_.erase({kind, name}) > 0;
  if (who)
    is_news = images_[{kind, id}].insert(*who).second || is_news;
  else
    is_news = images_.erase({kind, id}) > 0 || is_news;
  if (!is_news) return {};
  return write();
}

std::vector<std::string> ImageLogins::left_over(ContainerKind kind) const {
  std::vector<std::string> names;
  for (const Name& name : left_over_)
    if (name.first == kind) names.push_back(name.second);
  return names;
}

void ImageLogins::settle(ContainerKind kind, const std::string& name, const std::string& id) {
  if (left_over_.erase({kind, name}) == 0) return;
  if (!id.empty()) images_[{kind, id}];
  if (const auto written = write(); !written) log::warning("{}", written.error().detail);
}

void ImageLogins::forget(ContainerKind kind, const std::string& id) {
  if (images_.erase({kind, id}) == 0) return;
  if (const auto written = write(); !written) log::warning("{}", written.error().detail);
}

std::string docker_login_header(const proto::RegistryLogin& login, const std::string& image) {
  if (login.empty()) return {};
  boost::json::object object;
  object["username"] = login.user;
  object["password"] = login.password;
  object["serveraddress"] = registry_of(image);
  return format("X-Registry-Auth: {}\r\n", base64(boost::json::serialize(object), true));
}

std::string podman_login_file(const proto::RegistryLogin& login, const std::string& image) {
  boost::json::object one, hosts, all;
  one["auth"] = base64(format("{}:{}", login.user, login.password), false);
  hosts[registry_of(image)] = std::move(one);
  all["auths"] = std::move(hosts);
  return boost::json::serialize(all);
}

}  // namespace rota::gpud
