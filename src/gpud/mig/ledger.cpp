// gpud/mig/ledger.cpp - one small file, written beside and renamed.
#include "gpud/mig/ledger.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/format.h"
#include "gpud/launch/file.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr std::string_view magic = "ROTAMIG1";
/// Some hundred instances at the most; more is not ours.
constexpr std::streamoff bytes_max = 1 << 20;

Error failed(const std::string& path, const char* what) {
  return Error{Errc::io_failed, format("{}: {}: {}", path, what, strerrordesc_np(errno))};
}

}  // namespace

Result<MigLedger> mig_ledger_load(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    if (errno == ENOENT) return MigLedger{};
    return failed(path, "open");
  }
  if (file.tellg() > bytes_max) return Error{Errc::too_large, path + " is not ours"};
  file.seekg(0);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!bytes.starts_with(magic)) return Error{Errc::malformed, path + " is not ours"};
  return proto::decode<MigLedger>(std::string_view(bytes).substr(magic.size()));
}

Result<void> mig_ledger_save(const std::string& path, const MigLedger& ledger) {
  const std::string bytes = std::string(magic) + proto::encode(ledger);
  if (const int error = file_replace(path, bytes); error != 0)
    return Error{Errc::io_failed, format("{}: {}", path, strerrordesc_np(error))};
  return {};
}

}  // namespace rota::gpud
