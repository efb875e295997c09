// SPDX-License-Identifier: Apache-2.0
//
// Reads Prometheus' text format.
#pragma once

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace stemtap::test {

struct PrometheusText {
  std::map<std::string, double> values;  // by name and labels, as written: name{label="value"}
  std::map<std::string, std::string> types;
  std::set<std::string> helps;

  bool Has(const std::string& series) const { return values.contains(series); }
  // Returns the value of a series, or -1 if there is none.
  double Of(const std::string& series) const {
    const auto found = values.find(series);
    return found == values.end() ? -1.0 : found->second;
  }
  // Returns the sum of all series of a metric.
  double Sum(const std::string& name) const {
    double sum = 0.0;
    for (const auto& [series, value] : values) {
      if (series == name || series.starts_with(name + "{")) sum += value;
    }
    return sum;
  }
};

inline PrometheusText ReadPrometheus(const std::string& text) {
  PrometheusText read;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, kind, name, type;
    words >> hash >> kind >> name >> type;
    if (line.starts_with("# HELP ")) {
      read.helps.insert(name);
    } else if (line.starts_with("# TYPE ")) {
      read.types[name] = type;
    } else {
      const std::size_t space = line.rfind(' ');
      read.values[line.substr(0, space)] = std::strtod(line.c_str() + space + 1, nullptr);
    }
  }
  return read;
}

}  // namespace stemtap::test
