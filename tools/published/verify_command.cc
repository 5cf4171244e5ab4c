#include "tools/published/verify_command.h"

#include <filesystem>

#include "tools/line/commands.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxKeyFileBytes = 1 << 20;

bool is_public_half(const fs::path& path, const Signer& signer) {
  const auto pem = read_small(path, kMaxKeyFileBytes);
  const auto bundle = sign("{}", signer);
  return pem && bundle && verify_with_key(*bundle, *pem);
}

}  // namespace

std::string verify_command(const PublishedWith& with, const Signer& signer) {
  const std::string verify = "ckpt verify " + shell_path(with.folder);
  if (with.key.empty()) return verify;
  if (!with.certificate.empty()) {
    return fmt::format("{} --certificate {}", verify, shell_path(with.certificate));
  }
  std::error_code error;
  fs::path beside = fs::path(with.key).replace_extension(".pub");
  const bool is_its_own = is_public_half(beside, signer);
  if (!is_its_own && fs::exists(fs::symlink_status(beside, error))) beside = with.key + ".pub";
  const std::string public_key = shell_path(beside.string());
  const std::string check = fmt::format("{} --public-key {}", verify, public_key);
  if (is_its_own) return check;
  const std::string password =
      with.password_file.empty() ? "" : " -passin " + shell_word("file:" + with.password_file);
  return fmt::format("openssl pkey -in {}{} -pubout -out {} && {}", shell_path(with.key), password,
                     public_key, check);
}

}  // namespace ckpt
