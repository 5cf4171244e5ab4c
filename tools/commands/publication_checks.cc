// Checks of `ckpt publish` that run before hashing, also with --dry-run; and provenance.json, whose
// parts these checks validate.
#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/compare.h"
#include "core/io/bytes.h"
#include "core/io/paths.h"
#include "core/io/remembered.h"
#include "core/io/temporary.h"
#include "plan/conversion/steps.h"
#include "plan/text/recipe.h"
#include "publish/publish.h"
#include "tools/commands/publication.h"
#include "tools/line/commands.h"
#include "tools/published/folder_digests.h"
#include "tools/published/listing.h"
#include "tools/published/published_files.h"
#include "tools/published/unpublished.h"
#include "tools/report/page.h"
#include "tools/say/findings.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxRecipeBytes = 1 << 20;
constexpr std::string_view kOwnNames[] = {kSumsName, kSignatureName, kProvenanceName};

// The ModelOpt recipes that a recipe names or imports, with their paths relative to its folder.
Result<std::vector<FileDigest>> recipe_inputs(const fs::path& path, const std::string& text) {
  std::vector<FileDigest> out;
  CKPT_ASSIGN(const Recipe recipe, parse_recipe(path, text));
  CKPT_ASSIGN(const auto files, preset_files(recipe));
  for (const fs::path& file : files) {
    std::string name = file.lexically_relative(path.parent_path()).generic_string();
    if (name.empty() || name.starts_with("..")) name = file.filename().string();
    CKPT_ASSIGN(std::string sha256, hash_file(file, &interrupted));
    out.push_back({std::move(name), std::move(sha256), 0});
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> sorted_pairs(
    const std::vector<FileDigest>& files) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const FileDigest& file : files) out.emplace_back(file.name, file.sha256);
  std::ranges::sort(out);
  return out;
}

Failure signs_another_state(const fs::path& path) {
  return misuse_hint("--sign KEY for a new one, or --unsigned to remove it",
                     "{}: signs a different state of the folder than the one published",
                     path.string());
}

// Returns those of `all`, which are sorted by name, that are in `folder` ("inner/").
template <class File>
std::vector<File> in_folder(const std::vector<File>& all, std::string File::*name,
                            const std::string& folder) {
  const auto first = std::ranges::lower_bound(all, folder, {}, name);
  return {first, std::find_if(first, all.end(),
                              [&](const File& file) { return !(file.*name).starts_with(folder); })};
}

}  // namespace

// Checks that the records can be written. Unchanged sums are not rewritten, so they need no access.
Status Publication::check_places() const {
  std::error_code error;
  for (const std::string_view name : kOwnNames) {
    const fs::path left = folder_ / temporary_name(name);
    if (fs::symlink_status(left, error).type() != fs::file_type::directory) continue;
    return misuse_hint(fmt::format("mv {} elsewhere", shell_path(left.string())),
                       "{}: a folder; {} is written under this name first", left.string(), name);
  }
  const fs::path sums = folder_ / kSumsName;
  CKPT_ASSIGN(const bool has_sums, is_there(sums));
  const int denied = has_sums ? 0 : denied_in(folder_);
  if (denied == 0) return {};
  return io_failure(sums, "cannot be written", denied, "a copy of the folder, as its owner");
}

// Removes files of a killed publication. Files of a running one stay; list_published() omits them.
Status Publication::remove_leftovers() const {
  for (const std::string& name : publication_temporaries()) {
    const fs::path left = folder_ / name;
    CKPT_ASSIGN(const bool is_left, is_there(left));
    if (!is_left || !refuse_at_work(left)) continue;
    CKPT_TRY(LockedTemporary::file(left).map([](const LockedTemporary&) {}));
  }
  return {};
}

bool Publication::has_provenance() const {
  return typed_.provenance || !typed_.sources.empty() || !typed_.recipe.empty() ||
         !typed_.command.empty();
}

// Reports problems with the provenance before hashing instead of after it.
Status Publication::check_provenance() const {
  for (const std::string& source : typed_.sources) CKPT_TRY(check_source(source));
  if (!has_provenance()) return {};
  Provenance provenance;
  CKPT_TRY(add_recipe(provenance));
  return in(typed_.recipe, render_provenance(provenance)).map([](const std::string&) {});
}

Status Publication::add_recipe(Provenance& provenance) const {
  if (!typed_.recipe.empty()) {
    CKPT_ASSIGN(std::string recipe, read_small(typed_.recipe, kMaxRecipeBytes));
    CKPT_ASSIGN(auto files, in(typed_.recipe, recipe_inputs(typed_.recipe, recipe)));
    if (!files.empty()) provenance.inputs.push_back({"recipe", std::move(files)});
    provenance.recipe = without_comments(std::move(recipe));
    CKPT_TRY(refuse_secret_text("--recipe " + typed_.recipe, provenance.recipe));
  }
  CKPT_TRY(refuse_secret_text("--made-by", typed_.command));
  provenance.command = typed_.command;
  provenance.tool_version = CKPT_VERSION;
  return {};
}

Status Publication::make_provenance() {
  if (!has_provenance()) return {};
  Provenance provenance;
  for (const FileDigest& file : files_) {
    if (file.name != kProvenanceName) provenance.made.push_back(file);
  }
  for (const std::string& typed : typed_.sources) {
    CKPT_ASSIGN(const std::string source, source_as_read(typed, folder_, files_, console_));
    CKPT_ASSIGN(provenance.inputs.emplace_back(),
                digest_source(source, console_, {common_.threads, trusts_remembered()}));
  }
  CKPT_TRY(add_recipe(provenance));
  if (typed_.with_time) {
    provenance.time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  }
  CKPT_ASSIGN(std::string json, in(typed_.recipe, render_provenance(provenance)));
  add(kProvenanceName, std::move(json));
  return {};
}

// Requires a checkpoint for --report. A folder of GGUF files is not one, and a single file, which
// the error of reading suggests, cannot be published.
Status Publication::check_reported() const {
  if (!typed_.report) return {};
  const auto checkpoint = read_checkpoint(folder_);
  if (checkpoint) return {};
  Error error = checkpoint.error();
  error.hint = fmt::format("ckpt publish {}, without --report", shell_path(folder_.string()));
  return Failure(std::move(error));
}

// Checks the sums of inner folders now, because `ckpt verify` will check them too.
Status Publication::check_inner_sums(const std::vector<FolderEntry>& entries) const {
  const Console silent{CommonOptions()};
  Findings of_lists(silent);
  CKPT_ASSIGN(const auto inner, read_inner_sums(folder_, entries, {}, of_lists));
  std::vector<FileDigest> files = files_;
  std::ranges::sort(files, {}, &FileDigest::name);
  for (const Listing& listing : inner) {
    Findings findings(silent);
    check_listings({{listing}, {}}, in_folder(files, &FileDigest::name, listing.folder),
                   in_folder(entries, &FolderEntry::path, listing.folder), findings);
    if (findings.bad_count() == 0) continue;
    if (typed_.force) {
      console_.warn("published with --force: {}", findings.first_bad());
      continue;
    }
    const fs::path folder = (folder_ / listing.folder).parent_path();
    return misuse_hint(fmt::format("ckpt publish {}, or --force to publish it as it is",
                                   shell_path(folder.string())),
                       "{}: {}; ckpt verify would call this not sound", folder_.string(),
                       findings.first_bad());
  }
  if (of_lists.bad_count() == 0 || typed_.force) return {};
  return corrupt_hint("--force to publish it as it is", "{}", of_lists.first_bad());
}

// Compares the kept signature by file names and remembered digests, before hashing.
// keep_or_drop_signature() checks it fully afterwards.
Status Publication::check_kept_signature(const std::vector<FolderEntry>& entries) const {
  const fs::path path = folder_ / kSignatureName;
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists || !typed_.key.empty() || typed_.is_unsigned) return {};
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxSumsBytes));
  const auto manifest =
      parse_bundle(text).and_then([](const Bundle& one) { return parse_statement(one.payload); });
  if (!manifest) return signs_another_state(path);
  std::set<std::string> names{std::string(kSumsName)}, is_signed;
  if (typed_.report) names.emplace(kReportName);
  if (has_provenance()) names.emplace(kProvenanceName);
  if (!typed_.card.empty() && typed_.card != "-") {
    const std::string card = published_name(folder_, typed_.card);
    if (!card.empty()) names.insert(card);
  }
  const std::set<std::string> made = names;
  for (const FolderEntry& entry : entries) names.insert(entry.path);
  for (const FileDigest& file : manifest->files) {
    is_signed.insert(file.name);
    if (made.contains(file.name) || !trusts_remembered()) continue;
    const auto known = remembered_digest(folder_ / file.name);
    if (known && *known != file.sha256) return signs_another_state(path);
  }
  return names == is_signed ? Status() : signs_another_state(path);
}

// Keeps a signature that still signs these files. A signature of an earlier state would only report
// that something changed.
Status Publication::keep_or_drop_signature() {
  const fs::path path = folder_ / kSignatureName;
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return {};
  // A signature that cannot be read may still be valid, so it is kept.
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxSumsBytes));
  const auto manifest =
      parse_bundle(text).and_then([](const Bundle& one) { return parse_statement(one.payload); });
  drops_signature_ =
      typed_.is_unsigned || !manifest || sorted_pairs(manifest->files) != sorted_pairs(files_);
  if (!drops_signature_ || typed_.is_unsigned) return {};
  return signs_another_state(path);
}

}  // namespace ckpt
