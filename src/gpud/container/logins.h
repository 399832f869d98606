// gpud/container/logins.h - images that came with somebody's login, and who may use them.
//
// An engine gives every image that it has to everybody who asks. One that a registry gave to a user
// who had to log in is for that user alone, until the registry has given it to another one as well.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"
#include "gpud/container/order.h"
#include "proto/messages.h"

namespace rota::gpud {

/// Remembered in a file, which no user can write. Passwords are not in it.
class ImageLogins {
 public:
  /// Reads the file; one that cannot be understood is said to the log and counts as empty of what
  /// it does not say.
  explicit ImageLogins(std::string path);

  bool is_private(ContainerKind kind, const std::string& id) const;
  /// `who`: the user whose login would be shown; none: it would be asked for by nobody.
  bool may_use(ContainerKind kind, const std::string& id, std::optional<std::uint32_t> who) const;

  /// A pull with a login is about to begin. Fails when that cannot be written down: then it must
  /// not.
  Result<void> begin_pull(ContainerKind kind, const std::string& name);
  /// It brought nothing.
  void end_pull(ContainerKind kind, const std::string& name);
  /// The registry let this user have the image, or with none: everybody.
  Result<void> pulled(ContainerKind kind, const std::string& name, const std::string& id,
                      std::optional<std::uint32_t> who);

  /// Names whose pull was begun by an earlier rgpud.
  std::vector<std::string> left_over(ContainerKind kind) const;
  /// What has become of one of them: an image that nobody may use yet; "": nothing.
  void settle(ContainerKind kind, const std::string& name, const std::string& id);
  /// The image is not there any more.
  void forget(ContainerKind kind, const std::string& id);

 private:
  using Name = std::pair<ContainerKind, std::string>;
  void read();
  Result<void> write() const;

  std::string path_;
  std::map<Name, std::set<std::uint32_t>> images_;  // by id: who may use it
  std::set<Name> pulls_;                            // by name: under way
  std::set<Name> left_over_;                        // the same, of an earlier rgpud
};

/// How dockerd is told a login: a line of a request, with its end; "": there is none.
std::string docker_login_header(const proto::RegistryLogin& login, const std::string& image);
/// What podman's --authfile has.
std::string podman_login_file(const proto::RegistryLogin& login, const std::string& image);

}  // namespace rota::gpud
