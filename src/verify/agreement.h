#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/detection.h"
#include "verify/interval.h"

namespace pare {

/// How the detections of two models on one image correspond.
struct MatchCounts {
  int matched = 0;    ///< detections of the test model that have a partner
  int reference = 0;  ///< detections of the float model
  int test = 0;       ///< detections of the test model
};

/// Greedy matching: the test model's detections, best first, each take the free detection of the reference of the same class that
/// they overlap most, when that IoU is at least `min_iou`. Only scores greater than `min_score` count.
MatchCounts match_detections(std::span<const Detection> reference, std::span<const Detection> test, float min_score = .25F,
                             float min_iou = .5F);

struct DetectionAgreement {
  double f1 = 0;      ///< 2 matched / (reference + test); 0 when neither model found anything: nothing was compared
  Interval interval;  ///< of f1, by bootstrap over images
  int64_t matched = 0, reference = 0, test = 0;
  int images = 0;
};

/// Errors: ErrorKind::input for no images.
DetectionAgreement detection_agreement(std::span<const MatchCounts> images, int resamples = 1000, uint64_t seed = 0);

/// A proportion with Wilson's interval.
struct Rate {
  int64_t hits = 0, trials = 0;
  [[nodiscard]] double value() const { return trials == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(trials); }
  [[nodiscard]] Interval interval() const { return wilson(hits, trials); }
};

/// Two classifiers on the same images. The answer is the first largest logit; logits with a NaN answer nothing: that image is a
/// disagreement, and wrong.
class ClassAgreement {
 public:
  /// One image. `reference` and `test`: the logits (or probabilities) of the float model and the test model. `label`: the true
  /// class. Errors: ErrorKind::input when the two lengths differ, are 0, or `label` is outside them.
  void add(std::span<const float> reference, std::span<const float> test, std::optional<int> label = std::nullopt);

  [[nodiscard]] Rate disagreement() const { return disagreement_; }
  [[nodiscard]] Rate reference_top1() const { return reference_top1_; }
  [[nodiscard]] Rate reference_top5() const { return reference_top5_; }
  [[nodiscard]] Rate test_top1() const { return test_top1_; }
  [[nodiscard]] Rate test_top5() const { return test_top5_; }
  /// Labelled images that only the reference, or only the test model, gets right.
  [[nodiscard]] int64_t only_reference_right() const { return only_reference_; }
  [[nodiscard]] int64_t only_test_right() const { return only_test_; }
  /// mcnemar_p of these two counts.
  [[nodiscard]] double top1_p_value() const;

 private:
  Rate disagreement_, reference_top1_, reference_top5_, test_top1_, test_top5_;
  int64_t only_reference_ = 0, only_test_ = 0;
};

/// Two-sided p-value of McNemar's exact test that two paired classifiers err equally often: min(1, 2 P(X <= min(b, c))) with
/// X ~ Binomial(b + c, 1/2) (McNemar 1947; Fagerland et al., BMC Medical Research Methodology 13, 2013). 1 for b + c = 0.
double mcnemar_p(int64_t b, int64_t c);

}  // namespace pare
