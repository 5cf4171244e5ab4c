#include "tools/report/data.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/model/adapter.h"
#include "core/model/json_documents.h"
#include "formats/formats.h"
#include "plan/conversion/evaluation.h"
#include "plan/conversion/version.h"
#include "publish/publish.h"
#include "quantizers/quantizers.h"
#include "tools/line/commands.h"
#include "tools/report/cells.h"
#include "tools/report/coverage.h"
#include "tools/report/files.h"
#include "tools/report/memory.h"
#include "tools/report/profiles.h"
#include "tools/report/values.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// "Qwen3ForCausalLM"; an adapter by the model that it is of.
std::string model_words(const Checkpoint& checkpoint) {
  std::string adapter = adapter_words(checkpoint);
  return adapter.empty() ? architecture_of(checkpoint) : adapter;
}

// JSON has no word for infinity. Seven digits are more than any plot shows.
Json finite(double value) {
  if (!std::isfinite(value)) return Json();
  return std::strtod(fmt::format("{:.7g}", value).c_str(), nullptr);
}

double bits_of(const CellSums& sums) {
  if (sums.weights == 0) return 0;
  return 8 * static_cast<double>(sums.size_bytes) / static_cast<double>(sums.weights);
}

// ---- cells --------------------------------------------------------------------------------------

Json json_of_types(const Cells& cells) {
  Json out = Json::array();
  for (size_t i = 0; i < cells.types.size(); ++i) {
    const CellSums& sums = cells.of_type[i];
    out.push_back({{"type", cells.types[i]},
                   {"bits", finite(bits_of(sums))},
                   {"tensors", sums.tensors},
                   {"weights", sums.weights},
                   {"size_bytes", sums.size_bytes}});
  }
  return out;
}

// Share of weights that became zero; null where nothing was compared.
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

// ---- values -------------------------------------------------------------------------------------

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

Json json_of_memory(const Checkpoint& checkpoint, uint64_t tensor_bytes) {
  const auto memory = sequence_memory(checkpoint);
  if (!memory) return Json();
  return {{"weights_bytes", tensor_bytes},
          {"kv_layers", memory->kv_layers},
          {"kv_values_per_token", memory->kv_values_per_token},
          {"window_layers", memory->window_layers},
          {"window_values_per_token", memory->window_values_per_token},
          {"window", memory->window},
          {"state_bytes", memory->state_bytes},
          {"max_context", memory->max_context}};
}

// ---- one checkpoint -----------------------------------------------------------------------------

Result<Checkpoint> read_reported(const fs::path& path) {
  CKPT_ASSIGN(const Format* format, recognize(path));
  return format->read(path, all_codecs());
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

struct Reported {
  const fs::path& path;
  const Checkpoint& checkpoint;
  const Cells& cells;
  const Json& values;  // null: not compared
};

Result<Json> json_of(const Reported& reported, const Console& console) {
  const auto& [path, checkpoint, cells, values] = reported;
  CKPT_ASSIGN(const ReportedFiles files, reported_files(path));
  CKPT_ASSIGN(Json profiles, report_profiles(path, checkpoint, console));
  const CardFacts card = card_facts(checkpoint);
  const CellSums total = total_of(cells);
  return Json{{"name", checkpoint.name},
              {"path", path.string()},
              {"format", checkpoint.format},
              {"size_bytes", files.size_bytes},
              {"tensor_bytes", total.size_bytes},
              {"tensors", total.tensors},
              {"weights", total.weights},
              {"bits_per_weight", finite(bits_of(total))},
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

// Measurements of other programs, read before the values of any checkpoint.
struct Measured {
  std::optional<ImatrixSums> imatrix;
  Json evaluation;  // null: none was given
};

Result<Measured> read_measured(const ReportQuestion& question) {
  Measured out;
  if (!question.imatrix.empty()) {
    CKPT_ASSIGN(out.imatrix, read_imatrix_sums(question.imatrix));
  }
  if (!question.evaluation.empty()) {
    CKPT_ASSIGN(out.evaluation, read_evaluation(question.evaluation));
  }
  return out;
}

}  // namespace

Result<Json> report_data(const ReportQuestion& question, const Console& console,
                         const CommonOptions& common) {
  CKPT_ASSIGN(const Measured measured, read_measured(question));
  Json checkpoints = Json::array();
  Json against;
  std::optional<Checkpoint> base;
  if (!question.against.empty()) {
    CKPT_ASSIGN(base, read_reported(question.against));
    CKPT_ASSIGN(against, json_of({question.against, *base, cells_of(*base), Json()}, console));
  }
  for (const fs::path& path : question.paths) {
    CKPT_ASSIGN(const Checkpoint checkpoint, read_reported(path));
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
    CKPT_ASSIGN(Json one, json_of({path, checkpoint, cells, values}, console));
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
