#include "verify/agreement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "pare/error.h"

namespace pare {
namespace {

std::vector<Detection> above(std::span<const Detection> all, float min_score) {
  std::vector<Detection> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [=](const Detection& d) { return d.score > min_score; });
  std::stable_sort(found.begin(), found.end(), [](const Detection& a, const Detection& b) { return a.score > b.score; });
  return found;
}

float iou(const Detection& a, const Detection& b) {
  const auto area = [](const Detection& d) { return (d.x2 - d.x1) * (d.y2 - d.y1); };
  const float wide = std::max(0.F, std::min(a.x2, b.x2) - std::max(a.x1, b.x1));
  const float high = std::max(0.F, std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
  return wide * high / (area(a) + area(b) - wide * high + 1e-9F);
}

double f1(double matched, double detections) { return 2 * matched / std::max(1.0, detections); }

/// Classes that rank before `cls`: a larger logit, or an equal one of a lower class.
int64_t rank_of(std::span<const float> logits, int cls) {
  int64_t before = 0;
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] > logits[static_cast<size_t>(cls)] ||
        (logits[i] == logits[static_cast<size_t>(cls)] && static_cast<int>(i) < cls))
      ++before;
  return before;
}

bool has_nan(std::span<const float> logits) {
  return std::any_of(logits.begin(), logits.end(), [](float v) { return std::isnan(v); });
}

std::optional<int> answer(std::span<const float> logits) {
  if (has_nan(logits)) return std::nullopt;
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void count(Rate& rate, bool hit) {
  ++rate.trials;
  rate.hits += hit ? 1 : 0;
}

}  // namespace

MatchCounts match_detections(std::span<const Detection> reference, std::span<const Detection> test, float min_score,
                             float min_iou) {
  const std::vector<Detection> wanted = above(reference, min_score), found = above(test, min_score);
  MatchCounts counts{.reference = static_cast<int>(wanted.size()), .test = static_cast<int>(found.size())};
  std::vector<bool> taken(wanted.size(), false);
  for (const Detection& d : found) {
    float best = 0;
    size_t partner = wanted.size();
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (taken[i] || wanted[i].cls != d.cls) continue;
      const float overlap = iou(d, wanted[i]);
      if (overlap <= best) continue;
      best = overlap;
      partner = i;
    }
    if (partner == wanted.size() || best < min_iou) continue;
    taken[partner] = true;
    ++counts.matched;
  }
  return counts;
}

DetectionAgreement detection_agreement(std::span<const MatchCounts> images, int resamples, uint64_t seed) {
  if (images.empty()) throw Error(ErrorKind::input, "no images to compare detections on");
  DetectionAgreement result;
  result.images = static_cast<int>(images.size());
  for (const MatchCounts& image : images) {
    result.matched += image.matched;
    result.reference += image.reference;
    result.test += image.test;
  }
  result.f1 = f1(static_cast<double>(result.matched), static_cast<double>(result.reference + result.test));
  result.interval = percentile_interval(bootstrap(images.size(), resamples, seed, 1, [images](std::span<const uint32_t> drawn) {
    double matched = 0, detections = 0;
    for (size_t i = 0; i < images.size(); ++i) {
      matched += static_cast<double>(images[i].matched) * drawn[i];
      detections += static_cast<double>(images[i].reference + images[i].test) * drawn[i];
    }
    return f1(matched, detections);
  }));
  return result;
}

void ClassAgreement::add(std::span<const float> reference, std::span<const float> test, std::optional<int> label) {
  if (reference.size() != test.size() || reference.empty())
    throw Error(ErrorKind::input,
                std::to_string(test.size()) + " logits against the float model's " + std::to_string(reference.size()));
  if (label && (*label < 0 || static_cast<size_t>(*label) >= test.size()))
    throw Error(ErrorKind::input, "label " + std::to_string(*label) + ", allowed is 0 to " + std::to_string(test.size() - 1));

  const std::optional<int> wanted = answer(reference), got = answer(test);
  count(disagreement_, !wanted || !got || *wanted != *got);
  if (!label) return;
  const bool reference_right = wanted == label, test_right = got == label;
  count(reference_top1_, reference_right);
  count(test_top1_, test_right);
  count(reference_top5_, wanted && rank_of(reference, *label) < 5);
  count(test_top5_, got && rank_of(test, *label) < 5);
  only_reference_ += reference_right && !test_right ? 1 : 0;
  only_test_ += test_right && !reference_right ? 1 : 0;
}

double ClassAgreement::top1_p_value() const { return mcnemar_p(only_reference_, only_test_); }

double mcnemar_p(int64_t b, int64_t c) {
  const auto n = static_cast<double>(b + c);
  double tail = 0;
  for (int64_t k = 0; k <= std::min(b, c); ++k) {
    const auto i = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

}  // namespace pare
