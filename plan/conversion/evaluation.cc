#include "plan/conversion/evaluation.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/lines.h"
#include "core/io/bytes.h"
#include "core/json/json_read.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxEvaluationBytes = uint64_t{16} << 20;
constexpr size_t kMaxEvaluationRows = 10'000, kMaxEvaluationColumns = 64;
constexpr size_t kMaxEvaluationText = 200;

Status check_evaluation_value(const std::string& key, const JsonValue& value) {
  const bool is_short_text =
      value.is_string() && value.get_ref<const std::string&>().size() <= kMaxEvaluationText;
  const bool is_number = value.is_number() && std::isfinite(value.get<double>());
  if (is_number || is_short_text || value.is_null()) return {};
  return corrupt("'{}': expected a number, a text of at most {} bytes or null", key,
                 kMaxEvaluationText);
}

Result<Json> row_of_json(const JsonValue& row) {
  const JsonValue* name = member(row, "name");
  if (name == nullptr || !name->is_string()) return corrupt("expected an object with a \"name\"");
  if (row.size() > kMaxEvaluationColumns) {
    return unsupported("{} fields; expected at most {}", row.size(), kMaxEvaluationColumns);
  }
  Json out{{"name", name->get<std::string>()}};
  for (const auto& [key, value] : row.items()) {
    CKPT_TRY(check_evaluation_value(key, value));
    if (key != "name") out[key] = value;
  }
  return out;
}

Result<Json> rows_of_json(const JsonValue& json) {
  const JsonValue* rows = json.is_array() ? &json : known(json, "rows");
  if (rows == nullptr || !rows->is_array()) {
    return corrupt("expected {{\"rows\": [{{\"name\": ..., \"kl\": ...}}]}}");
  }
  Json out = Json::array();
  for (const JsonValue& row : *rows) {
    if (out.size() == kMaxEvaluationRows) break;
    CKPT_ASSIGN(out.emplace_back(), in(fmt::format("row {}", out.size() + 1), row_of_json(row)));
  }
  if (rows->size() <= kMaxEvaluationRows) return out;
  return unsupported("{} rows; expected at most {}", rows->size(), kMaxEvaluationRows);
}

using CsvCells = std::vector<std::string>;

Result<CsvCells> cells_of_line(std::string_view line) {
  if (line.find('"') != line.npos) {
    return unsupported("a quoted cell; expected plain ones between commas");
  }
  CsvCells out;
  while (true) {
    const size_t comma = line.find(',');
    out.emplace_back(line.substr(0, comma));
    if (out.back().size() > kMaxEvaluationText) {
      return unsupported("a cell of {} bytes; expected at most {}", out.back().size(),
                         kMaxEvaluationText);
    }
    if (comma == line.npos) return out;
    line.remove_prefix(comma + 1);
  }
}

Result<std::vector<CsvCells>> lines_of_csv(std::string_view text) {
  std::vector<CsvCells> out;
  size_t number = 0;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string place = fmt::format("line {}", number);
    CKPT_ASSIGN(CsvCells cells, in(place, cells_of_line(line)));
    if (!out.empty() && cells.size() != out[0].size()) {
      return in(place, Result<std::vector<CsvCells>>(corrupt("{} cells; the first line has {}",
                                                             cells.size(), out[0].size())));
    }
    out.push_back(std::move(cells));
  }
  return out;
}

// A cell that is not a finite number stays text; such files contain "NaN" and percentages.
Json value_of_cell(const std::string& cell) {
  if (cell.empty()) return Json();
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  const bool is_number = end == cell.c_str() + cell.size() && std::isfinite(value);
  return is_number ? Json(value) : Json(cell);
}

// Only the file's name states the metric of its columns: kld_results.csv, ppl_results.csv.
std::string metric_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (name.find("kld") != name.npos) return "kl";
  return name.find("ppl") != name.npos ? "perplexity" : "value";
}

// Parses lines per type with columns per tensor or group, as collect_ppl_results.sh of
// GGUF-Tool-Suite writes them. One column makes rows of types, several make rows of tensors.
Json rows_of_types(const std::vector<CsvCells>& lines, const std::string& metric) {
  Json out = Json::array();
  if (lines[0].size() == 2) {
    for (size_t i = 1; i < lines.size(); ++i) {
      out.push_back({{"name", lines[i][0]}, {metric, value_of_cell(lines[i][1])}});
    }
    return out;
  }
  for (size_t column = 1; column < lines[0].size(); ++column) {
    Json row{{"name", lines[0][column]}};
    for (size_t i = 1; i < lines.size(); ++i) {
      row[fmt::format("{} of {}", metric, lines[i][0])] = value_of_cell(lines[i][column]);
    }
    out.push_back(std::move(row));
  }
  return out;
}

Result<Json> rows_of_csv(const std::string& path, const std::string& text) {
  if (!text.starts_with("name,") && !text.starts_with("QTYPE,")) {
    return unsupported(
        "expected JSON, or lines of CSV of which the first begins with name or QTYPE");
  }
  CKPT_ASSIGN(const std::vector<CsvCells> lines, lines_of_csv(text));
  if (lines.size() < 2) return corrupt("no line of figures");
  const bool is_of_types = lines[0][0] == "QTYPE";
  const bool is_turned = is_of_types && lines[0].size() > 2;
  const size_t rows = is_turned ? lines[0].size() : lines.size();
  const size_t columns = is_turned ? lines.size() : lines[0].size();
  if (rows - 1 > kMaxEvaluationRows || columns > kMaxEvaluationColumns) {
    return unsupported("{} rows of {} figures; expected at most {} of {}", rows - 1, columns - 1,
                       kMaxEvaluationRows, kMaxEvaluationColumns - 1);
  }
  const auto& first = lines[0];
  if (std::set<std::string>(first.begin(), first.end()).size() != first.size()) {
    return corrupt("line 1: two columns have the same name");
  }
  if (is_of_types) return rows_of_types(lines, metric_of(path));
  Json out = Json::array();
  for (size_t i = 1; i < lines.size(); ++i) {
    Json row{{"name", lines[i][0]}};
    for (size_t c = 1; c < first.size(); ++c) row[first[c]] = value_of_cell(lines[i][c]);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

Result<Json> read_evaluation(const fs::path& path) {
  const std::string name = path.string();
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxEvaluationBytes));
  const size_t first = text.find_first_not_of(" \t\r\n");
  Json rows;
  if (first != text.npos && (text[first] == '{' || text[first] == '[')) {
    CKPT_ASSIGN(const JsonValue json, parse_json(name, text));
    CKPT_ASSIGN(rows, in(name, rows_of_json(json)));
  } else {
    CKPT_ASSIGN(rows, in(name, rows_of_csv(name, text)));
  }
  return Json{{"file", path.filename().string()}, {"rows", std::move(rows)}};
}

}  // namespace ckpt
