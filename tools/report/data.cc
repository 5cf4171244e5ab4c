#include "tools/report/data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "checks/checks.h"
#include "core/base/printable.h"
#include "core/engine/value_chunks.h"
#include "core/io/folder.h"
#include "core/json/json_read.h"
#include "core/model/adapter.h"
#include "core/model/checkpoint.h"
#include "core/model/imatrix.h"
#include "core/model/json_documents.h"
#include "formats/formats.h"
#include "models/models.h"
#include "plan/conversion/evaluation.h"
#include "plan/conversion/fixing.h"
#include "plan/conversion/imatrix_fit.h"
#include "plan/conversion/steps.h"
#include "plan/conversion/value_sides.h"
#include "plan/conversion/version.h"
#include "publish/publish.h"
#include "quantizers/quantizers.h"
#include "tools/compare/value_pairs.h"
#include "tools/doctor/doctor_report.h"
#include "tools/line/commands.h"
#include "tools/published/listing.h"
#include "tools/published/published_files.h"
#include "tools/report/cells.h"
#include "tools/say/console.h"
#include "tools/say/severity.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// The architecture ("Qwen3ForCausalLM"), or for an adapter the model that it belongs to.
std::string model_words(const Checkpoint& checkpoint) {
  std::string adapter = adapter_words(checkpoint);
  return adapter.empty() ? architecture_of(checkpoint) : adapter;
}

Json text_or_null(std::string text) { return text.empty() ? Json() : Json(std::move(text)); }

bool is_of(const Finding& finding, const Verdict& verdict) {
  return finding.profile == verdict.profile && finding.severity > Severity::kInfo;
}

Json findings_of(const Report& report, const Verdict& verdict) {
  Json out = Json::array();
  std::set<std::string> known;
  for (const Finding& finding : report.diagnosis.findings) {
    if (!is_of(finding, verdict)) continue;
    const std::string text =
        fmt::format("{} {}: {}: {}", finding.check, severity_words(finding.severity), finding.place,
                    finding.found);
    if (known.insert(text).second) out.push_back(text);
  }
  if (!verdict.not_checked.empty()) out.push_back("not checked: " + verdict.not_checked);
  return out;
}

// Explains each check that reports a finding for the profile: its rule, cause, symptom and fix. A
// field is null if the check has no text for it.
Json explained(const Report& report, const Verdict& verdict, const std::vector<CheckInfo>& checks) {
  Json out = Json::array();
  std::set<std::string> named;
  for (const Finding& finding : report.diagnosis.findings) {
    if (!is_of(finding, verdict)) continue;
    const auto info = std::ranges::find(checks, finding.check, &CheckInfo::id);
    if (info == checks.end() || !named.insert(finding.check).second) continue;
    out.push_back({{"check", finding.check},
                   {"title", info->title},
                   {"cause", text_or_null(std::string(info->cause))},
                   {"symptom", text_or_null(finding.symptom)},
                   {"command", text_or_null(fix_command(report, finding))},
                   {"advice", text_or_null(fix_words(report, finding))}});
  }
  return out;
}

// Returns [{"name", "label", "loads", "sound", "findings", "explained", "fix", "left", "serve",
// "convert"}]. Reads only headers and documents, not weights.
Result<Json> report_profiles(const std::filesystem::path& path, const Checkpoint& checkpoint,
                             const ReadOptions& reading, const Console& console) {
  ProgressLine progress(console, "reading");
  DiagnosisOptions diagnosis_options = diagnosis_options_for(step_context(nullptr, reading), {});
  diagnosis_options.progress = &progress;
  diagnosis_options.interrupted = &interrupted;
  FolderDiagnosis found;
  CKPT_SET(found.diagnosis, diagnose(checkpoint, diagnosis_options));
  progress.clear();
  found.checkpoint = checkpoint;
  DoctorOptions typed;
  typed.reading = reading;
  CKPT_ASSIGN(const Report report, report_of(path, typed, std::move(found)));
  const std::vector<CheckInfo> checks = all_checks();
  Json out = Json::array();
  for (const ProgramRow& row : report.rows) {
    out.push_back(
        {{"name", row.verdict.profile},
         {"label", release_label(row.verdict.profile)},
         {"loads", verdict_word(row.verdict.loads, row.verdict)},
         {"sound", row.verdict.loads ? Json(verdict_word(row.verdict.sound, row.verdict)) : Json()},
         {"findings", findings_of(report, row.verdict)},
         {"explained", explained(report, row.verdict, checks)},
         {"fix", text_or_null(row.fix)},
         {"left", row.left},
         {"serve", text_or_null(row.serve)},
         {"convert", text_or_null(row.convert)}});
  }
  return out;
}

struct ReportedFiles {
  Json list = Json::array();  // [{"name", "size_bytes", "sha256"}]; sha256 as SHA256SUMS lists it
  uint64_t size_bytes = 0;
  bool has_sums = false, has_signature = false;
  Json provenance;  // content of provenance.json or null
};

// A larger record would make the page heavy and exceed what anybody reads there.
constexpr uint64_t kMaxShownProvenanceBytes = 64 << 10;

using Entries = std::vector<FolderEntry>;

bool is_record_name(std::string_view name) {
  return name == kSumsName || name == kSignatureName || name == kProvenanceName;
}

// Lists the folder of a file. It may be a home folder, so its subfolders are not searched.
Result<Entries> sibling_entries(const fs::path& path) {
  Entries out;
  std::error_code error;
  const fs::path folder = parent_of(path);
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_file_of(path, name) && !is_record_name(name)) continue;
    std::error_code ignored;
    out.push_back(folder_entry(at->path(), name, at->symlink_status(ignored), ignored));
  }
  if (error) return io_failure(folder, "cannot be listed", error.value());
  std::ranges::sort(out, {}, &FolderEntry::path);
  return out;
}

// Notes that an existing record is missing in the report.
void note_left_out(Error error, const fs::path& record, const Console& console) {
  error.hint.clear();
  console.warn("{}; the report is made without it", std::move(error).in(record.string()).text());
}

// Reads a record; nullopt if it does not exist or is a link, or, after a note, if it is unreadable.
std::optional<std::string> own_text(const Entries& entries, const fs::path& record,
                                    uint64_t limit_bytes, const Console& console) {
  const auto at = std::ranges::find(entries, record.filename().native(), &FolderEntry::path);
  if (at == entries.end() || at->kind != FolderEntry::Kind::kFile) return std::nullopt;
  auto text = read_small(record, limit_bytes);
  if (text) return std::move(*text);
  note_left_out(text.error(), record, console);
  return std::nullopt;
}

std::map<std::string, std::string> listed_digests(const Entries& entries, const fs::path& sums,
                                                  const Console& console, ReportedFiles& out) {
  std::map<std::string, std::string> digests;
  const auto text = own_text(entries, sums, kMaxSumsBytes, console);
  if (!text) return digests;
  const auto listed = parse_sha256sums(*text);
  out.has_sums = listed.has_value();
  if (!listed) {
    note_left_out(listed.error(), sums, console);
    return digests;
  }
  for (const FileDigest& file : *listed) digests[file.name] = file.sha256;
  return digests;
}

// The content of provenance.json, or null if there is none.
Json record_of(const Entries& entries, const fs::path& record, const Console& console) {
  const auto text = own_text(entries, record, kMaxShownProvenanceBytes, console);
  const auto json = parse_json(record.string(), text.value_or("null"));
  if (json) return Json(*json);
  note_left_out(json.error(), record, console);
  return {};
}

// Lists all files of a folder, or a file with the other parts of its split, without hashing. Sums
// and records are read only from regular files, not links: a link could bring any file of this
// machine into a page that others see. Fails: kIo; kUnsupported above a million entries.
Result<ReportedFiles> reported_files(const fs::path& path, const Console& console) {
  ReportedFiles out;
  const fs::path folder = is_folder(path) ? path : parent_of(path);
  CKPT_ASSIGN(const Entries entries,
              is_folder(path) ? list_publishable(path) : sibling_entries(path));
  const auto digests = listed_digests(entries, folder / kSumsName, console, out);
  for (const FolderEntry& entry : entries) {
    out.has_signature = out.has_signature || entry.path == kSignatureName;
    const bool is_part = is_folder(path) || is_file_of(path, entry.path);
    if (!is_part || entry.kind == FolderEntry::Kind::kOther) continue;
    std::error_code error;
    const uint64_t size_bytes = entry.kind == FolderEntry::Kind::kFile
                                    ? entry.size_bytes
                                    : fs::file_size(folder / entry.path, error);
    if (error) continue;  // a dangling link
    const auto digest = digests.find(entry.path);
    out.size_bytes += size_bytes;
    out.list.push_back({{"name", entry.path},
                        {"size_bytes", size_bytes},
                        {"sha256", digest == digests.end() ? Json() : Json(digest->second)}});
  }
  out.provenance = record_of(entries, folder / kProvenanceName, console);
  return out;
}

// Returns {"file", "kind", "chunks", "datasets", "entries": [{"role", "layer", "experts"}],
// "missing", "unknown"}. Fails: kUsage if the matrix belongs to another model: no name or a size
// does not match; as fit_imatrix.
Result<Json> report_coverage(const ImatrixSums& imatrix, const Checkpoint& checkpoint,
                             const Cells& cells) {
  CKPT_ASSIGN(const ImatrixFit fit, in(imatrix.file, fit_imatrix(checkpoint, imatrix)));
  if (fit.entries.empty() || !fit.wrong.empty()) {
    return misuse_hint(
        "ckpt imatrix show " + shell_path(imatrix.file), "{}: not of this model: {}", imatrix.file,
        fit.wrong.empty() ? fmt::format("it has no tensor '{}'", fit.unknown[0]) : fit.wrong[0]);
  }
  std::map<std::string_view, size_t> roles;
  for (const std::string& role : cells.roles) roles.emplace(role, roles.size());
  Json entries = Json::array();
  for (const FittedEntry& each : fit.entries) {
    const TensorPlace place = place_of(each.name);
    const auto role = roles.find(place.role);
    // A legacy file has one count for all experts.
    if (role == roles.end() || imatrix.is_legacy) continue;
    entries.push_back({{"role", role->second},
                       {"layer", place.layer ? Json(*place.layer) : Json()},
                       {"experts", each.entry->counts}});
  }
  return Json{{"file", imatrix.file},          {"kind", imatrix.is_legacy ? "legacy" : "gguf"},
              {"chunks", imatrix.chunk_count}, {"datasets", imatrix.datasets},
              {"entries", std::move(entries)}, {"missing", fit.missing},
              {"unknown", fit.unknown}};
}

// JSON cannot express infinity, which becomes null. Seven digits exceed the precision of any plot.
Json finite(double value) {
  if (!std::isfinite(value)) return Json();
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

Json json_of_types(const Cells& cells) {
  Json out = Json::array();
  for (size_t i = 0; i < cells.types.size(); ++i) {
    const CellSums& sums = cells.of_type[i];
    out.push_back({{"type", cells.types[i]},
                   {"bits", finite(bits_per_weight(sums.size_bytes, sums.weights))},
                   {"tensors", sums.tensors},
                   {"weights", sums.weights},
                   {"size_bytes", sums.size_bytes}});
  }
  return out;
}

// The share of weights that became zero; null if nothing was compared.
Json zeroed(const ValueDifference& difference) {
  if (difference.values == 0) return Json();
  return finite(static_cast<double>(difference.zeroed) / static_cast<double>(difference.values));
}

Json saturated(const ValueDifference& difference) {
  const auto share = difference.sides[1].saturated();
  return share ? finite(*share) : Json();
}

Json json_of_cells(const Cells& cells, bool has_values) {
  Json out = Json::object();
  for (const char* column : {"role", "layer", "type", "tensors", "weights", "size_bytes"}) {
    out[column] = Json::array();
  }
  for (const char* column : {"sqnr_db", "relative", "saturated", "flushed", "kurtosis"}) {
    out[column] = has_values ? Json(Json::array()) : Json();
  }
  for (const Cell& cell : cells.cells) {
    out["role"].push_back(cell.role);
    out["layer"].push_back(cell.layer ? Json(*cell.layer) : Json());
    out["type"].push_back(cell.type);
    out["tensors"].push_back(cell.sums.tensors);
    out["weights"].push_back(cell.sums.weights);
    out["size_bytes"].push_back(cell.sums.size_bytes);
    if (!has_values) continue;
    const bool is_known = cell.compared > 0;
    const ValueDifference& difference = cell.difference;
    out["sqnr_db"].push_back(is_known ? finite(difference.sqnr_db()) : Json());
    out["relative"].push_back(is_known ? finite(difference.relative()) : Json());
    out["saturated"].push_back(is_known ? saturated(difference) : Json());
    out["flushed"].push_back(is_known ? zeroed(difference) : Json());
    out["kurtosis"].push_back(is_known ? finite(difference.kurtosis()) : Json());
  }
  return out;
}

constexpr size_t kWorstShown = 20;

struct WorstTensor {
  std::string name;
  std::optional<size_t> cell;  // nullopt if the comparison renamed the tensor
  uint64_t weights = 0;
  ValueDifference difference;
  ValueHistograms histograms;
  HistogramLimits limits;
};

struct ReportedValues {
  uint64_t compared = 0, not_compared = 0;  // tensors
  ValueDifference total;
  std::vector<WorstTensor> worst;  // by relative error, at most kWorstShown; no equal tensors
};

// Returns the indices of the pairs with the largest differences.
std::vector<size_t> worst_of(const std::vector<ValueDifference>& differences) {
  std::vector<size_t> out;
  for (size_t i = 0; i < differences.size(); ++i) {
    if (differences[i].sum_squared_errors > 0) out.push_back(i);
  }
  std::ranges::stable_sort(out, [&](size_t a, size_t b) {
    return differences[a].relative() > differences[b].relative();
  });
  out.resize(std::min(out.size(), kWorstShown));
  return out;
}

Status add_histograms(const std::vector<ValuePair>& pairs, const CompareOptions& options,
                      ReportedValues& out) {
  std::vector<HistogramLimits> limits;
  for (WorstTensor& worst : out.worst) {
    worst.limits = {worst.difference.max_value, worst.difference.max_error};
    limits.push_back(worst.limits);
  }
  const Codec& floats = plain_codec(all_codecs(), Dtype::kF32);
  CKPT_ASSIGN(const std::vector<ValueHistograms> histograms,
              value_histograms(pairs, limits, floats, options));
  for (size_t i = 0; i < histograms.size(); ++i) out.worst[i].histograms = histograms[i];
  return {};
}

// Compares all values of `checkpoint` with those of `base`, and adds each tensor's difference to
// its cell. Fails: as value_sides and compare_values.
Result<ReportedValues> report_values(const Checkpoint& base, const Checkpoint& checkpoint,
                                     Cells& cells, const Console& console,
                                     const CommonOptions& common) {
  CKPT_ASSIGN(const ValueSides sides, value_sides(base, checkpoint));
  for (const std::string& note : sides.notes) console.warn(note);
  const PairedTensors pairs = pair_tensors(sides.a, sides.b, "*");
  if (pairs.values.empty()) {
    return misuse_hint("the checkpoint that it was made from",
                       "none of {} tensors can be compared with --against: {}",
                       checkpoint.tensors.size(),
                       pairs.apart.empty() ? "there are none" : pairs.apart.front().why);
  }
  if (!pairs.apart.empty()) {
    console.warn("{} tensors cannot be compared, among them '{}': {}", pairs.apart.size(),
                 pairs.apart.front().tensor, pairs.apart.front().why);
  }
  ProgressLine progress(console, "comparing");
  CompareOptions options{common.threads, common.memory_bytes, &interrupted, &progress};
  CKPT_ASSIGN(const std::vector<ValueDifference> differences,
              compare_values(pairs.values, plain_codec(all_codecs(), Dtype::kF32), options));
  ReportedValues out;
  out.compared = pairs.values.size();
  out.not_compared = pairs.apart.size();
  const auto cell_of = [&](const Tensor& tensor) -> std::optional<size_t> {
    const auto found = cells.of_tensor.find(tensor.name);
    return found == cells.of_tensor.end() ? std::nullopt : std::optional(found->second);
  };
  for (size_t i = 0; i < differences.size(); ++i) {
    combine(out.total, differences[i]);
    const auto cell = cell_of(*pairs.values[i].b);
    if (!cell) continue;
    ++cells.cells[*cell].compared;
    combine(cells.cells[*cell].difference, differences[i]);
  }
  std::vector<ValuePair> worst;
  for (const size_t i : worst_of(differences)) {
    const ValuePair& pair = pairs.values[i];
    worst.push_back(pair);
    out.worst.push_back({pair.b->name, cell_of(*pair.b), pair.b->values(), differences[i], {}, {}});
  }
  options.progress = nullptr;
  CKPT_TRY(add_histograms(worst, options, out));
  progress.clear();
  return out;
}

Json json_of_worst(const WorstTensor& worst) {
  const ValueDifference& difference = worst.difference;
  return {{"tensor", worst.name},
          {"cell", worst.cell ? Json(*worst.cell) : Json()},
          {"sqnr_db", finite(difference.sqnr_db())},
          {"relative", finite(difference.relative())},
          {"cosine", finite(difference.cosine())},
          {"max_error", finite(difference.max_error)},
          {"kurtosis", finite(difference.kurtosis())},
          {"saturated", saturated(difference)},
          {"flushed", zeroed(difference)},
          {"weights", worst.weights},
          {"weight_histogram",
           {{"from", finite(-worst.limits.value)},
            {"to", finite(worst.limits.value)},
            {"base", worst.histograms.a},
            {"this", worst.histograms.b}}},
          {"error_histogram",
           {{"from", finite(-worst.limits.error)},
            {"to", finite(worst.limits.error)},
            {"counts", worst.histograms.errors}}}};
}

Json json_of_values(const ReportedValues& values) {
  Json worst = Json::array();
  for (const WorstTensor& tensor : values.worst) worst.push_back(json_of_worst(tensor));
  return {{"compared", values.compared},
          {"not_compared", values.not_compared},
          {"sqnr_db", finite(values.total.sqnr_db())},
          {"relative", finite(values.total.relative())},
          {"cosine", finite(values.total.cosine())},
          {"rmse", finite(values.total.rmse())},
          {"worst", std::move(worst)}};
}

// The memory that one sequence needs. Full attention keeps keys and values of every token, layers
// with a window keep those of the last tokens, and recurrent layers keep a state.
Json json_of_memory(const Checkpoint& checkpoint, uint64_t tensor_bytes) {
  const auto model = resolve(checkpoint);
  if (!model) return Json();
  std::map<LayerMemory, std::pair<uint64_t, uint64_t>> kept;  // layers, values
  for (const ResolvedLayer& layer : model->layers) {
    auto& [layers, values] = kept[layer.memory()];
    ++layers;
    values += layer.kept_values;
  }
  const auto [full, full_values] = kept[LayerMemory::kFull];
  const auto [windows, window_values] = kept[LayerMemory::kWindow];
  return {{"weights_bytes", tensor_bytes},
          {"kv_layers", full},
          {"kv_values_per_token", full_values},
          {"window_layers", windows},
          {"window_values_per_token", window_values},
          {"window", windows == 0 ? 0 : model->window},
          {"state_bytes", kept[LayerMemory::kRecurrent].second * sizeof(float)},
          {"max_context", model->max_context}};
}

CellSums total_of(const Cells& cells) {
  CellSums out;
  for (const CellSums& sums : cells.of_type) {
    out.tensors += sums.tensors;
    out.weights += sums.weights;
    out.size_bytes += sums.size_bytes;
  }
  return out;
}

struct ReportedCheckpoint {
  const fs::path& path;
  const fs::path shown;  // path shown in the page and its commands
  const Checkpoint& checkpoint;
  const Cells& cells;
  const Json& values;  // null: not compared
  const ReadOptions& reading;
};

Result<Json> json_of(const ReportedCheckpoint& reported, const Console& console) {
  const auto& [path, shown, checkpoint, cells, values, reading] = reported;
  CKPT_ASSIGN(const ReportedFiles files, reported_files(path, console));
  CKPT_ASSIGN(Json profiles, report_profiles(shown, checkpoint, reading, console));
  const CardFacts card = card_facts(checkpoint);
  const CellSums total = total_of(cells);
  return Json{{"name", checkpoint.name},
              {"path", shown.string()},
              {"format", checkpoint.format},
              {"size_bytes", files.size_bytes},
              {"tensor_bytes", total.size_bytes},
              {"tensors", total.tensors},
              {"weights", total.weights},
              {"bits_per_weight", finite(bits_per_weight(total.size_bytes, total.weights))},
              {"architecture", text_or_null(model_words(checkpoint))},
              {"layers", cells.layers == 0 ? Json() : Json(cells.layers)},
              {"license", text_or_null(card.license)},
              {"base_models", card.base_models},
              {"files", files.list},
              {"published",
               {{"sums", files.has_sums},
                {"signature", files.has_signature ? Json(kSignatureName) : Json()},
                {"provenance", files.provenance}}},
              {"profiles", std::move(profiles)},
              {"types", json_of_types(cells)},
              {"roles", cells.roles},
              {"cells", json_of_cells(cells, !values.is_null())},
              {"values", values},
              {"memory", json_of_memory(checkpoint, total.size_bytes)},
              {"imatrix", nullptr},
              {"evaluation", nullptr}};
}

// Measurements by other programs, read before any weights.
struct Measurements {
  std::optional<ImatrixSums> imatrix;
  Json evaluation;  // null: none was given
};

Result<Measurements> read_measured(const ReportQuestion& question) {
  Measurements out;
  if (!question.imatrix.empty()) CKPT_SET(out.imatrix, read_imatrix_sums(question.imatrix));
  if (!question.evaluation.empty()) CKPT_SET(out.evaluation, read_evaluation(question.evaluation));
  return out;
}

}  // namespace

Result<Json> report_data(const ReportQuestion& question, const Console& console,
                         const CommonOptions& common) {
  CKPT_ASSIGN(const Measurements measured, read_measured(question));
  Json checkpoints = Json::array();
  Json against;
  std::optional<Checkpoint> base;
  if (!question.against.empty()) {
    FileMisfit misfit;
    CKPT_ASSIGN(base, read_with_misfit(question.against.string(), question.reading, misfit));
    note_shard(question.against.string(), *base, misfit, console);
    CKPT_ASSIGN(against, json_of({question.against, question.against, *base, cells_of(*base),
                                  Json(), question.reading},
                                 console));
  }
  for (const fs::path path : question.paths) {
    FileMisfit misfit;
    CKPT_ASSIGN(const Checkpoint checkpoint, read_with_misfit(path, question.reading, misfit));
    note_shard(path.string(), checkpoint, misfit, console);
    Cells cells = cells_of(checkpoint);
    Json values, coverage;
    if (measured.imatrix) {
      CKPT_ASSIGN(coverage,
                  in(path.string(), report_coverage(*measured.imatrix, checkpoint, cells)));
    }
    if (base) {
      CKPT_ASSIGN(const ReportedValues compared,
                  in(path.string(), report_values(*base, checkpoint, cells, console, common)));
      values = json_of_values(compared);
    }
    const fs::path shown = question.is_published ? fs::path(checkpoint.name) : path;
    CKPT_ASSIGN(Json one,
                json_of({path, shown, checkpoint, cells, values, question.reading}, console));
    one["imatrix"] = std::move(coverage);
    one["evaluation"] = measured.evaluation;
    checkpoints.push_back(std::move(one));
  }
  return Json{{"report", 1},
              {"version", build_info().version},
              {"checkpoints", std::move(checkpoints)},
              {"against", std::move(against)}};
}

}  // namespace ckpt
