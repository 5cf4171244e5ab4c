// ckpt publish PATH: writes sums, a signature, pointers and records for a folder to be shipped.
#include "publish/publish.h"

#include <cctype>
#include <filesystem>
#include <memory>
#include <string>

#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "core/resume/unfinished.h"
#include "plan/conversion/advice.h"
#include "plan/conversion/targets.h"
#include "plan/publish_to/publish_to.h"
#include "tools/commands/publication.h"
#include "tools/line/commands.h"
#include "tools/published/archive.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxKeyBytes = 1 << 20;

bool is_public_half(const fs::path& path, const Signer& signer) {
  const auto pem = read_small(path, kMaxKeyBytes);
  const auto bundle = sign("{}", signer);
  return pem && bundle && verify_with_key(*bundle, *pem);
}

// A complete command line that verifies `path`, which was just published. If the public key is not
// next to the private key, the line first makes it with openssl under a free name.
std::string verify_command(const std::string& path, const TypedPublish& with,
                           const Signer& signer) {
  const std::string verify = "ckpt verify " + shell_path(path);
  if (with.key.empty()) return verify;
  if (!with.certificate.empty()) {
    return fmt::format("{} --certificate {}", verify, shell_path(with.certificate));
  }
  std::error_code error;
  fs::path public_path = fs::path(with.key).replace_extension(".pub");
  const bool is_its_own = is_public_half(public_path, signer);
  if (!is_its_own && fs::exists(fs::symlink_status(public_path, error))) {
    public_path = with.key + ".pub";
  }
  const std::string public_key = shell_path(public_path.string());
  const std::string check = fmt::format("{} --public-key {}", verify, public_key);
  if (is_its_own) return check;
  const std::string password =
      with.password_file.empty() ? "" : " -passin " + shell_word("file:" + with.password_file);
  return fmt::format("openssl pkey -in {}{} -pubout -out {} && {}", shell_path(with.key), password,
                     public_key, check);
}

Result<Signer> read_signer(const TypedPublish& typed) {
  Signer out;
  if (typed.key.empty()) return out;
  CKPT_ASSIGN(out.private_key_pem, read_small(typed.key, kMaxKeyBytes));
  if (!typed.certificate.empty()) {
    CKPT_ASSIGN(out.certificate_pem, read_small(typed.certificate, kMaxKeyBytes));
  }
  if (!typed.password_file.empty()) {
    CKPT_ASSIGN(out.password, read_small(typed.password_file, kMaxKeyBytes));
    while (out.password.ends_with('\n')) out.password.pop_back();
  }
  // A key that cannot sign is refused before a folder of many gigabytes is hashed.
  CKPT_TRY(in(typed.key, sign("{}", out)));
  return out;
}

// The folder's name as a name on the Hub: invalid characters are replaced, and those before the
// first letter or digit are dropped.
std::string hub_name_of(const fs::path& folder) {
  std::error_code error;
  std::string name =
      (fs::absolute(folder, error) / "").lexically_normal().parent_path().filename().string();
  for (char& c : name) {
    const bool is_taken = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (!is_taken) c = c == '_' ? '_' : '-';
  }
  const size_t start = name.find_first_not_of("-._");
  return start == name.npos ? "MODEL" : name.substr(start);
}

// True for the folder that is published and everything inside it.
bool is_in_published(const TypedPublish& typed, const std::string& path) {
  std::error_code error;
  return is_within(real_place(path), fs::canonical(typed.path, error));
}

// Requires that this user can create `path`, including missing folders. Fails: kIo.
Status check_makeable(std::string_view option, const std::string& path) {
  std::error_code error;
  fs::path folder = parent_of(path);
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = parent_of(folder);
  const int denied = denied_in(folder);
  if (denied == 0) return {};
  const std::string hint = fmt::format("{} in a folder that you may write to", option);
  return io_failure(fmt::format("{} {}", option, path), "cannot be made", denied, hint.c_str());
}

// Checks the archive's name before a folder of many gigabytes is hashed.
Status check_archive_name(const TypedPublish& typed) {
  if (typed.archive.empty()) return {};
  if (!typed.archive.ends_with(".tar.zst")) {
    return misuse("--archive {}: expected a name that ends in .tar.zst", typed.archive);
  }
  if (is_in_published(typed, typed.archive)) {
    return misuse("--archive {}: inside {}, which it is to hold", typed.archive, typed.path);
  }
  CKPT_TRY(check_parent(typed.archive));
  CKPT_TRY(check_makeable("--archive", typed.archive));
  CKPT_TRY(is_there(archive_temporary(typed.archive)));  // fails if that name is too long
  std::error_code error;
  const fs::file_status found = fs::symlink_status(typed.archive, error);
  if (fs::is_symlink(found)) {
    const fs::path target =
        fs::path(typed.archive).parent_path() / fs::read_symlink(typed.archive, error);
    return misuse_hint("--archive " + shell_path(target.string()),
                       "--archive {}: is a link; expected the name of a file", typed.archive);
  }
  if (!fs::exists(found) || (typed.force && is_archive(typed.archive))) return {};
  const char* const other = !fs::is_regular_file(found) ? " and is not a file"
                            : is_archive(typed.archive) ? ""
                                                        : " and is not an archive";
  return misuse_hint(*other ? "another name" : "--force to replace it, or another name",
                     "--archive {}: exists{}", typed.archive, *other ? other : " already");
}

Status check_lfs_folder(const TypedPublish& typed) {
  if (typed.lfs.empty()) return {};
  std::error_code error;
  const fs::path lfs = typed.lfs;
  if (is_in_published(typed, typed.lfs)) {
    return misuse("--lfs {}: inside {}; pointers never replace weights", typed.lfs, typed.path);
  }
  CKPT_TRY(refuse_file_above(lfs));
  CKPT_TRY(check_makeable("--lfs", typed.lfs));
  CKPT_TRY(is_there(lfs_temporary(lfs)));
  if (!fs::exists(lfs, error) || (fs::is_directory(lfs, error) && fs::is_empty(lfs, error))) {
    return {};
  }
  return misuse("--lfs {}: exists already; expected a new or empty folder", typed.lfs);
}

// Requires that the card is not one of the files that programs or this command use.
Status check_card(const TypedPublish& typed) {
  if (!typed.has_card_file()) return {};
  CKPT_TRY(read_card(typed.card));
  if (is_card_name(typed.card) || published_name(typed.path, typed.card).empty()) return {};
  return misuse_hint("--card " + shell_path((fs::path(typed.path) / "README.md").string()),
                     "--card {}: in the published folder; expected the name of a Markdown file",
                     typed.card);
}

// Rejects outputs inside each other, because writing one would change the other.
Status check_written_apart(const TypedPublish& typed) {
  const std::pair<std::string_view, std::string> written[] = {
      {"--card", typed.has_card_file() ? typed.card : ""},
      {"--lfs", typed.lfs},
      {"--archive", typed.archive}};
  const auto is_in = [](const std::string& path, const std::string& folder) {
    return is_within(real_place(path), (real_place(folder) / "").parent_path());
  };
  for (const auto& [option, path] : written) {
    for (const auto& [other, place] : written) {
      if (option == other || path.empty() || place.empty() || !is_in(path, place)) continue;
      return misuse_hint("outputs next to each other",
                         "{} {} and {} {}: one output is inside the other", option, path, other,
                         place);
    }
  }
  return {};
}

Result<int> publish(const TypedPublish& typed, const Console& console,
                    const CommonOptions& common) {
  std::error_code error;
  CKPT_ASSIGN(const bool exists, is_there(typed.path, Links::kFollow));
  if (!exists) return not_found("{}: no such folder", typed.path);
  if (!fs::is_directory(typed.path, error) && !fs::is_regular_file(typed.path, error)) {
    return misuse("{}: neither a file nor a folder; expected a folder", typed.path);
  }
  if (!fs::is_directory(typed.path, error)) {
    const fs::path stem = fs::path(typed.path).filename().replace_extension();
    const std::string folder = free_name(stem, "release");
    return misuse_hint(fmt::format("mkdir {0} && cp {1} {0} && ckpt publish {0}", folder,
                                   shell_path(typed.path)),
                       "{}: expected a folder", typed.path);
  }
  if (typed.card == "-" && common.json) {
    return misuse("--card - with --json, whose objects are on stdout; expected FILE.md");
  }
  CKPT_TRY(refuse_unfinished_output(typed.path));
  CKPT_ASSIGN(const Signer signer, read_signer(typed));
  CKPT_TRY(check_lfs_folder(typed));
  CKPT_TRY(check_archive_name(typed));
  CKPT_TRY(check_written_apart(typed));
  CKPT_TRY(check_published_targets(typed.path));
  CKPT_TRY(check_card(typed));
  if (typed.report) CKPT_TRY(check_published_report(typed.path));
  CKPT_TRY(Publication(typed, signer, console, common).run());
  if (typed.is_dry_run) return 0;
  console.next(verify_command(typed.path, typed, signer));
  if (!typed.archive.empty()) console.next(verify_command(typed.archive, typed, signer));
  if (typed.lfs.empty() && typed.targets.empty()) {
    console.next(
        fmt::format("hf upload ORG/{} {}", hub_name_of(typed.path), shell_path(typed.path)));
  }
  return 0;
}

Run declare_publish(CommandOptions& options) {
  auto typed = std::make_shared<TypedPublish>();
  options.add("PATH", &typed->path, "the folder to ship",
              {.is_required = true, .place = OptionPlace::kWritten});
  options.add("--sign FILE", &typed->key, "PEM of a private EC key: writes model.sig",
              {.place = OptionPlace::kSecret});
  options.add("--certificate FILE", &typed->certificate,
              "PEM of the signer's certificate, then its issuers'", {.needs = {"--sign"}});
  options.add("--password-file FILE", &typed->password_file, "file with the private key's password",
              {.needs = {"--sign"}, .place = OptionPlace::kSecret});
  options.add("--lfs DIR", &typed->lfs, "new folder for git-LFS pointers and the small files",
              {.place = OptionPlace::kWritten});
  options.add("--archive FILE", &typed->archive,
              "FILE.tar.zst with the entire folder; equal folders give equal bytes",
              {.place = OptionPlace::kWritten});
  options.add("--to TARGET", &typed->targets,
              "then send it to hf://, oci://, ollama: or s3://; " + publish_target_forms() +
                  " (may repeat)");
  const auto forms = artifact_forms();
  options.add("--as FORM", &typed->as, "form of the artifact for --to oci://; default: modelpack")
      .choices.assign(forms.begin(), forms.end());
  options.add("--force", &typed->force,
              "replace an existing archive or target; publish damaged or incomplete weights");
  options.add("--unsigned", &typed->is_unsigned, "remove model.sig where there is one",
              {.excludes = "--sign"});
  options.add("--dry-run", &typed->is_dry_run,
              "show what would be published and written; hash and write nothing");
  options.add("--source PATH", &typed->sources, "source of PATH, for provenance.json (may repeat)");
  options.add("--recipe FILE", &typed->recipe, "the recipe it was made with, for provenance.json");
  options.add("--made-by COMMAND", &typed->command,
              "the command it was made with, for provenance.json");
  options.add("--provenance", &typed->provenance, "write provenance.json in any case");
  options.add("--time", &typed->with_time, "record the time in provenance.json (not reproducible)",
              {.needs = {"--provenance", "--source", "--recipe", "--made-by"}});
  options.add("--card FILE", &typed->card,
              "put a block with types and hashes into this model card; FILE.md, or - for stdout",
              {.place = OptionPlace::kWritten});
  options.add("--report", &typed->report, "write the page of ckpt report to PATH/report.html");
  options.add("--rehash", &typed->rehash, "read every file, also those hashed while converting");
  return run_with(std::move(typed), publish);
}

}  // namespace

extern const Command kPublishCommand{
    "publish", "Writes SHA256SUMS, a signature, LFS pointers and provenance.",
    "  ckpt publish out/\n"
    "  ckpt publish out/ --sign release.pem --source checkpoint-162/\n"
    "  ckpt publish out/ --lfs repository/\n"
    "  ckpt publish out/ --archive out.tar.zst\n"
    "  ckpt publish out/ --to oci://ghcr.io/org/model:v1 --dry-run",
    declare_publish};

}  // namespace ckpt
