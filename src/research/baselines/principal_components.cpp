// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/principal_components.h"

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace stemtap::research {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// A spread below this share of the mean is rounding of equal values.
constexpr double kRounding = 1e-12;

Matrix Standardised(const DistinctRows& rows, const Eigen::VectorXd& weights) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  const auto columns = static_cast<Eigen::Index>(rows.columns);
  Matrix x = Eigen::Map<const Matrix>(rows.values.data(), n, columns);
  for (Eigen::Index c = 0; c < columns; ++c) {
    const double mean = weights.dot(x.col(c));
    x.col(c).array() -= mean;
    const double sd = std::sqrt(weights.dot(x.col(c).cwiseAbs2()));
    if (sd > kRounding * std::abs(mean)) {
      x.col(c) /= sd;
    } else {
      x.col(c).setZero();
    }
  }
  return x;
}

}  // namespace

Scores PrincipalComponents(const DistinctRows& rows, double share) {
  Scores scores;
  if (rows.size() == 0 || rows.columns == 0) return scores;
  const auto n = static_cast<Eigen::Index>(rows.size());
  Eigen::VectorXd weights(n);
  for (Eigen::Index r = 0; r < n; ++r) {
    weights[r] = static_cast<double>(rows.counts[static_cast<std::size_t>(r)]);
  }
  weights /= weights.sum();
  const Matrix x = Standardised(rows, weights);
  const Eigen::MatrixXd covariance = x.transpose() * weights.asDiagonal() * x;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  // In ascending order; rounding may make zeros slightly negative.
  const Eigen::VectorXd variances = solver.eigenvalues().cwiseMax(0.0);
  const double total = variances.sum();
  if (!(total > 0.0)) return scores;

  // The sum of the variances is the number of columns that vary, up to rounding.
  const double wanted = (share - std::numeric_limits<double>::epsilon() * 64) * total;
  Eigen::Index kept = 0;
  for (double sum = 0.0; sum < wanted && kept < variances.size(); ++kept) {
    sum += variances[variances.size() - 1 - kept];
  }
  const Matrix turned = x * solver.eigenvectors().rightCols(kept).rowwise().reverse();
  scores.columns = static_cast<std::size_t>(kept);
  scores.values.assign(turned.data(), turned.data() + turned.size());
  return scores;
}

}  // namespace stemtap::research
