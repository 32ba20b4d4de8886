#include "demo/scenes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>

#include "base/file.h"
#include "pare/error.h"

namespace pare {
namespace {

namespace fs = std::filesystem;

constexpr int kUnit = 16;  // lengths are in 1/16 px
constexpr int kTurn = 16;  // sine and cosine are in 1/65536

using Color = std::array<int, 3>;

struct Point {
  int64_t x = 0, y = 0;
};

uint64_t scramble(uint64_t x) {  // finalizer of SplitMix64
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  /// An integer of [low, high]; the standard's distributions differ between libraries.
  int between(int low, int high) {
    const auto range = static_cast<uint64_t>(int64_t{high} - low + 1);
    return low + static_cast<int>(((engine_() >> 32) * range) >> 32);
  }
  Color color() { return {between(0, 255), between(0, 255), between(0, 255)}; }

 private:
  std::mt19937_64 engine_;
};

/// A rotation by -90 to 90 degrees from the rational points of the circle.
struct Rotation {
  int64_t cosine = 1 << kTurn, sine = 0;

  static Rotation drawn(Dice& dice) {
    const int64_t k = dice.between(-256, 256);
    const int64_t whole = 65536 + k * k;
    return {((65536 - k * k) << kTurn) / whole, ((512 * k) << kTurn) / whole};
  }
  [[nodiscard]] Point forth(Point p) const {
    return {(p.x * cosine - p.y * sine) >> kTurn, (p.x * sine + p.y * cosine) >> kTurn};
  }
  [[nodiscard]] Point back(Point p) const { return {(p.x * cosine + p.y * sine) >> kTurn, (p.y * cosine - p.x * sine) >> kTurn}; }
};

enum class Form { disc, square, triangle, ring, cross, bar };

/// A form inside the circle of `radius` around `center`.
struct Shape {
  Form form = Form::disc;
  Point center;
  int64_t radius = 0;
  Rotation rotation;

  [[nodiscard]] bool holds(Point p) const {
    const Point q = rotation.back({p.x - center.x, p.y - center.y});
    const int64_t u = std::abs(q.x);
    const int64_t v = std::abs(q.y);
    const int64_t r = radius;
    switch (form) {
      case Form::disc: return u * u + v * v <= r * r;
      case Form::ring: return u * u + v * v <= r * r && 100 * (u * u + v * v) >= 36 * r * r;
      case Form::square: return std::max(u, v) <= side();
      case Form::cross: return std::max(u, v) <= arm() && std::min(u, v) <= width();
      case Form::triangle: return 2 * q.y <= r && 1732 * u <= 1000 * (q.y + r);
      case Form::bar: return u <= r && 6 * v <= r;
    }
    return false;
  }

  /// Corners of the outline around (0, 0), not rotated; none where the outline is the circle.
  [[nodiscard]] std::vector<Point> corners() const {
    const int64_t s = side();
    const int64_t a = arm();
    const int64_t w = width();
    switch (form) {
      case Form::square: return {{s, s}, {s, -s}, {-s, s}, {-s, -s}};
      case Form::cross: return {{a, w}, {a, -w}, {-a, w}, {-a, -w}, {w, a}, {-w, a}, {w, -a}, {-w, -a}};
      case Form::triangle: return {{0, -radius}, {radius * 866 / 1000, radius / 2}, {-radius * 866 / 1000, radius / 2}};
      default: return {};
    }
  }

  [[nodiscard]] SceneLabel box() const {
    Point low{-radius, -radius};
    Point high{radius, radius};
    const std::vector<Point> outline = corners();
    if (!outline.empty()) low = high = rotation.forth(outline.front());
    for (const Point& corner : outline) {
      const Point p = rotation.forth(corner);
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
    const auto pixels = [](int64_t length) { return static_cast<double>(length) / kUnit; };
    return {static_cast<int>(form), pixels(center.x + low.x), pixels(center.y + low.y), pixels(center.x + high.x),
            pixels(center.y + high.y)};
  }

 private:
  [[nodiscard]] int64_t side() const { return radius * 707 / 1000; }
  [[nodiscard]] int64_t arm() const { return radius * 950 / 1000; }
  [[nodiscard]] int64_t width() const { return radius * 290 / 1000; }
};

/// Two colours and how they share the surface: 0 flat, 1 gradient, 2 stripes, 3 checkerboard, 4 clouds.
struct Paint {
  int kind = 0;
  Color first{}, second{};
  Rotation rotation;
  int64_t period = 8;  // px
  uint64_t seed = 0;

  [[nodiscard]] Color at(int x, int y) const {
    const int64_t share = second_share(x, y);
    Color mixed{};
    for (size_t c = 0; c < 3; ++c) mixed[c] = static_cast<int>((first[c] * (256 - share) + second[c] * share) >> 8);
    return mixed;
  }

 private:
  /// 0..256
  [[nodiscard]] int64_t second_share(int x, int y) const {
    const Point p = rotation.back({x, y});
    const auto odd = [this](int64_t v) { return ((v + 4096 * period) / period) % 2 != 0; };
    switch (kind) {
      case 1: return std::clamp<int64_t>(128 + p.x * 64 / period - 128, 0, 256);
      case 2: return odd(p.x) ? 256 : 0;
      case 3: return odd(p.x) != odd(p.y) ? 256 : 0;
      case 4: return (2 * cloud(x, y, period) + cloud(x, y, std::max<int64_t>(period / 3, 2))) / 3;
      default: return 0;
    }
  }
  /// Random values on a lattice of `step` px, linear in between.
  [[nodiscard]] int64_t cloud(int64_t x, int64_t y, int64_t step) const {
    const auto knot = [&](int64_t i, int64_t j) {
      return static_cast<int64_t>(scramble(seed ^ static_cast<uint64_t>((step * 4096 + i) * 4096 + j)) >> 56);
    };
    const int64_t i = x / step, j = y / step, u = x % step, v = y % step;
    const int64_t above = knot(i, j) * (step - u) + knot(i + 1, j) * u;
    const int64_t below = knot(i, j + 1) * (step - u) + knot(i + 1, j + 1) * u;
    return (above * (step - v) + below * v) / (step * step);
  }
};

Paint drawn_paint(Dice& dice, int last_kind, int most_contrast) {
  Paint paint;
  paint.kind = dice.between(0, last_kind);
  paint.first = dice.color();
  for (size_t c = 0; c < 3; ++c)
    paint.second[c] = std::clamp(paint.first[c] + dice.between(-most_contrast, most_contrast), 0, 255);
  paint.rotation = Rotation::drawn(dice);
  paint.period = dice.between(4, 40);
  paint.seed = static_cast<uint64_t>(dice.between(0, 1 << 30));
  return paint;
}

struct Object {
  Shape shape;
  Paint paint;
};

class Canvas {
 public:
  Canvas(int width, int height) : width_(width), height_(height), pixels_(static_cast<size_t>(width) * height) {}

  void fill(const Paint& paint) {
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; ++x) at(x, y) = paint.at(x, y);
  }

  void draw(const Object& object) {
    const Shape& shape = object.shape;
    over(shape.center, shape.radius, [&](int x, int y) {
      int64_t inside = 0;  // of 4 x 4 samples
      for (int64_t k = 0; k < 16; ++k)
        inside += shape.holds({int64_t{x} * kUnit + 2 + 4 * (k % 4), int64_t{y} * kUnit + 2 + 4 * (k / 4)}) ? 1 : 0;
      mix(x, y, object.paint.at(x, y), inside, 16);
    });
  }

  /// A line of `width` (1/16 px).
  void draw_line(Point from, Point to, int64_t width, const Color& color) {
    const Point d{to.x - from.x, to.y - from.y};
    const int64_t square = std::max<int64_t>(d.x * d.x + d.y * d.y, 1);
    const Point middle{(from.x + to.x) / 2, (from.y + to.y) / 2};
    over(middle, std::max(std::abs(d.x), std::abs(d.y)) / 2 + width, [&](int x, int y) {
      const Point p{int64_t{x} * kUnit + 8 - from.x, int64_t{y} * kUnit + 8 - from.y};
      const int64_t along = std::clamp<int64_t>(p.x * d.x + p.y * d.y, 0, square);
      const Point off{p.x - d.x * along / square, p.y - d.y * along / square};
      if (4 * (off.x * off.x + off.y * off.y) <= width * width) at(x, y) = color;
    });
  }

  /// A spot that fades towards its rim.
  void draw_spot(const Shape& circle, const Color& color) {
    const int64_t square = circle.radius * circle.radius;
    over(circle.center, circle.radius, [&](int x, int y) {
      const Point p{int64_t{x} * kUnit + 8 - circle.center.x, int64_t{y} * kUnit + 8 - circle.center.y};
      mix(x, y, color, std::max<int64_t>(square - p.x * p.x - p.y * p.y, 0), square * 3 / 2);
    });
  }

  /// How far `color` is from the mean of the pixels under `shape`, summed over the channels.
  [[nodiscard]] int contrast(const Shape& shape, const Color& color) {
    std::array<int64_t, 3> sum{};
    int64_t count = 0;
    over(shape.center, shape.radius, [&](int x, int y) {
      for (size_t c = 0; c < 3; ++c) sum[c] += at(x, y)[c];
      ++count;
    });
    int64_t far = 0;
    for (size_t c = 0; c < 3; ++c) far += std::abs(sum[c] / std::max<int64_t>(count, 1) - color[c]);
    return static_cast<int>(far);
  }

  [[nodiscard]] std::vector<uint8_t> exposed(int gain, int noise, uint64_t seed) const {
    std::vector<uint8_t> bytes(pixels_.size() * 3);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint64_t random = scramble(seed ^ i);
      const int grain = static_cast<int>(random & 255U) - static_cast<int>((random >> 8) & 255U);
      bytes[i] = static_cast<uint8_t>(std::clamp(pixels_[i / 3][i % 3] * gain / 256 + grain * noise / 256, 0, 255));
    }
    return bytes;
  }

 private:
  Color& at(int x, int y) { return pixels_[static_cast<size_t>(y) * width_ + x]; }

  void mix(int x, int y, const Color& color, int64_t part, int64_t whole) {
    for (size_t c = 0; c < 3; ++c) at(x, y)[c] = static_cast<int>((at(x, y)[c] * (whole - part) + color[c] * part) / whole);
  }

  template <typename Body>
  void over(Point center, int64_t reach, const Body& body) {
    const auto pixel = [](int64_t length, int size) { return static_cast<int>(std::clamp<int64_t>(length / kUnit, 0, size)); };
    const int right = pixel(center.x + reach + kUnit, width_);
    const int bottom = pixel(center.y + reach + kUnit, height_);
    for (int y = pixel(center.y - reach, height_); y < bottom; ++y)
      for (int x = pixel(center.x - reach, width_); x < right; ++x) body(x, y);
  }

  int width_, height_;
  std::vector<Color> pixels_;
};

Point drawn_point(Dice& dice, int width, int height, int margin) {
  const int x = dice.between(margin, width * kUnit - margin);
  return {x, dice.between(margin, height * kUnit - margin)};
}

void draw_clutter(Canvas& canvas, Dice& dice, int width, int height) {
  for (int n = dice.between(0, 7); n > 0; --n) {
    const Point from = drawn_point(dice, width, height, 0);
    const int kind = dice.between(0, 3);
    if (kind <= 1) {
      const Point to = drawn_point(dice, width, height, 0);
      const int thickness = dice.between(kUnit, 3 * kUnit);
      canvas.draw_line(from, to, thickness, dice.color());
    } else {
      const int radius = dice.between(8 * kUnit, 40 * kUnit);
      const Shape shape{kind == 2 ? Form::bar : Form::disc, from, radius, Rotation::drawn(dice)};
      const Paint paint = drawn_paint(dice, 0, 0);
      if (kind == 2)
        canvas.draw({shape, paint});
      else
        canvas.draw_spot(shape, paint.first);
    }
  }
}

/// Neither of the two boxes is covered by the other by more than a fifth.
bool apart(const SceneLabel& a, const SceneLabel& b) {
  const double w = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double h = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (w <= 0 || h <= 0) return true;
  const auto area = [](const SceneLabel& box) { return (box.right - box.left) * (box.bottom - box.top); };
  return 5 * w * h <= std::min(area(a), area(b));
}

std::vector<Object> place_objects(Canvas& canvas, Dice& dice, int width, int height) {
  constexpr int kTries = 12;
  const int largest = std::min(110, std::min(width, height) * 9 / 20);
  std::vector<Object> objects;
  for (int wanted = dice.between(2, 8); wanted > 0; --wanted) {
    for (int attempt = 0; attempt < kTries; ++attempt) {
      Shape shape;
      shape.form = static_cast<Form>(dice.between(0, static_cast<int>(kSceneClasses.size()) - 1));
      const int size = 18 + dice.between(0, dice.between(0, largest - 18));  // small ones more often
      shape.radius = int64_t{size} * kUnit / 2;
      shape.center = drawn_point(dice, width, height, (size / 2 + 2) * kUnit);
      const Rotation rotation = Rotation::drawn(dice);
      if (shape.form != Form::disc && shape.form != Form::ring) shape.rotation = rotation;
      Paint paint = drawn_paint(dice, 3, 45);
      const SceneLabel box = shape.box();
      const auto clear = [&](const Object& other) { return apart(box, other.shape.box()); };
      if (canvas.contrast(shape, paint.first) < 150 || !std::all_of(objects.begin(), objects.end(), clear)) continue;
      objects.push_back({shape, paint});
      break;
    }
  }
  return objects;
}

void write_split(const fs::path& folder, const std::string& split, int count, uint64_t seed) {
  const fs::path images = folder / "images" / split;
  const fs::path labels = folder / "labels" / split;
  for (const fs::path& made : {images, labels}) {
    std::error_code code;
    fs::create_directories(made, code);
    if (code) throw Error(ErrorKind::system, code.message()).at(made.string());
  }
  for (int i = 0; i < count; ++i) {
    Scene scene = draw_scene({.seed = scramble(seed ^ static_cast<uint64_t>(i))});
    const std::string stem = fmt::format("{:06}", i);
    cv::Mat bgr;
    cv::cvtColor(cv::Mat(scene.height, scene.width, CV_8UC3, scene.rgb.data()), bgr, cv::COLOR_RGB2BGR);
    std::vector<uint8_t> png;
    cv::imencode(".png", bgr, png);
    write_file((images / (stem + ".png")).string(), {reinterpret_cast<const char*>(png.data()), png.size()});
    std::string text;
    for (const SceneLabel& box : scene.labels)
      text += fmt::format("{} {:.6f} {:.6f} {:.6f} {:.6f}\n", box.label, (box.left + box.right) / 2 / scene.width,
                          (box.top + box.bottom) / 2 / scene.height, (box.right - box.left) / scene.width,
                          (box.bottom - box.top) / scene.height);
    write_file((labels / (stem + ".txt")).string(), text);
  }
}

}  // namespace

Scene draw_scene(const SceneOptions& options) {
  Dice dice(options.seed);
  const int drawn_width = dice.between(192, 384);
  const int drawn_height = dice.between(160, 320);
  const int width = options.width != 0 ? options.width : drawn_width;
  const int height = options.height != 0 ? options.height : drawn_height;
  if (width < 64 || height < 64) throw Error(ErrorKind::usage, fmt::format("scene of {}x{}, smallest is 64x64", width, height));

  Canvas canvas(width, height);
  canvas.fill(drawn_paint(dice, 4, 70));
  draw_clutter(canvas, dice, width, height);
  std::vector<Object> objects = place_objects(canvas, dice, width, height);
  const int gain = dice.between(128, 282);
  const int noise = dice.between(0, 20);
  if (options.object_limit >= 0) objects.resize(std::min(objects.size(), static_cast<size_t>(options.object_limit)));

  Scene scene{width, height, {}, {}};
  for (const Object& object : objects) {
    canvas.draw(object);
    scene.labels.push_back(object.shape.box());
  }
  scene.rgb = canvas.exposed(gain, noise, scramble(options.seed));
  return scene;
}

void write_scenes(const fs::path& folder, int train, int val, uint64_t seed) {
  write_split(folder, "train", train, scramble(seed));
  write_split(folder, "val", val, scramble(seed ^ 0x76616CU));
  std::string yaml = "path: " + fs::absolute(folder).string() + "\ntrain: images/train\nval: images/val\nnames:\n";
  for (size_t c = 0; c < kSceneClasses.size(); ++c) yaml += fmt::format("  {}: {}\n", c, kSceneClasses[c]);
  write_file((folder / "data.yaml").string(), yaml);
}

}  // namespace pare
