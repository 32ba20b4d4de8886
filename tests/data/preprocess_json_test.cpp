#include <gmock/gmock.h>

#include "data/preprocess.h"
#include "tests/data/scratch.h"

namespace pare {
namespace {

using Resize = Preprocess::Resize;

TEST(ReadPreprocess, TakesPresets) {
  for (const std::string& name : preset_names()) EXPECT_EQ(read_preprocess(name), preset(name)) << name;
}

TEST(ReadPreprocess, TakesItsOwnText) {
  const Scratch scratch;
  std::vector<Preprocess> all;
  for (const std::string& name : preset_names()) all.push_back(preset(name));
  all.push_back(
      {.resize = Resize::crop, .short_side = 232, .short_side_per = 0, .crop_size = 224, .mean = {0.5F, 103.53F, 1.F / 3}});
  all.push_back({.resize = Resize::centre_crop_only, .order = Preprocess::Order::bgr, .layout = Preprocess::Layout::nhwc});
  all.push_back({.resize = Resize::letterbox, .pad = 0});
  for (const Preprocess& preprocess : all) {
    const std::string text = to_json(preprocess);
    EXPECT_EQ(read_preprocess(scratch.write("p.json", text)), preprocess) << text;
    EXPECT_EQ(to_json(read_preprocess(scratch.path("p.json"))), text);
  }
}

TEST(ReadPreprocess, TextIsStable) {
  EXPECT_EQ(to_json(preset("yolo")),
            R"({"layout":"nchw","letterbox":true,"mean":[0.0,0.0,0.0],"order":"rgb","pad":114,"std":[255.0,255.0,255.0]})");
  EXPECT_EQ(
      to_json(preset("tf")),
      R"({"crop":true,"layout":"nchw","mean":[127.0,127.0,127.0],"order":"rgb","resize":"256/224","std":[128.0,128.0,128.0]})");
}

struct Accepted {
  const char* text;
  Preprocess wanted;
};

TEST(ReadPreprocess, ReadsEachKey) {
  const Scratch scratch;
  for (const Accepted& row : {
           Accepted{"{}", {}},
           Accepted{R"({"letterbox": true, "pad": 0})", {.resize = Resize::letterbox, .pad = 0}},
           Accepted{R"({"letterbox": false, "crop": false})", {}},
           Accepted{R"({"crop": 224})", {.resize = Resize::centre_crop_only, .crop_size = 224}},
           Accepted{R"({"resize": 256, "crop": 224})",
                    {.resize = Resize::crop, .short_side = 256, .short_side_per = 0, .crop_size = 224}},
           Accepted{R"({"resize": "1/1"})", {.resize = Resize::crop, .short_side = 1, .short_side_per = 1}},
           Accepted{R"({"resize": "stretch", "mean": 127.5, "std": [128, 64.5, 32]})",
                    {.mean = {127.5F, 127.5F, 127.5F}, .std = {128, 64.5F, 32}}},
           Accepted{R"({"order": "bgr", "layout": "nhwc"})",
                    {.order = Preprocess::Order::bgr, .layout = Preprocess::Layout::nhwc}},
       })
    EXPECT_EQ(read_preprocess(scratch.write("p.json", row.text)), row.wanted) << row.text;
}

TEST(ReadPreprocess, NamesFileAndKey) {
  const Scratch scratch;
  const std::string pixels = R"(a number of pixels, a share such as "256/224", or "stretch")";
  const std::string std_allowed = "a number or [r, g, b] in pixel values 0..255, at least 1 (0.229 of 0..1 is 58.395)";
  const auto message = [&](const char* text) {
    const std::string file = scratch.write("p.json", text);
    const std::string full = error_of([&] { (void)read_preprocess(file); });
    return full.substr(0, 2) == "3 " && full.starts_with("3 " + file + ": ") ? full.substr(file.size() + 4) : full;
  };
  EXPECT_EQ(message("{"), "is not valid JSON");
  EXPECT_EQ(message("[1]"), "holds no JSON object");
  EXPECT_EQ(message(R"({"size": 3})"), "unknown key 'size', allowed are letterbox, crop, resize, mean, std, order, layout, pad");
  EXPECT_EQ(message(R"({"letterbox": 1})"), "key 'letterbox': is 1, allowed is true or false");
  EXPECT_EQ(message(R"({"crop": 0})"), "key 'crop': is 0, allowed is true, false or a number of pixels");
  EXPECT_EQ(message(R"({"crop": 1e9})"), "key 'crop': is 1e+09, allowed is true, false or a number of pixels");
  EXPECT_EQ(message(R"({"resize": "half"})"), "key 'resize': is \"half\", allowed is " + pixels);
  EXPECT_EQ(message(R"({"resize": "256/"})"), "key 'resize': is \"256/\", allowed is " + pixels);
  EXPECT_EQ(message(R"({"resize": "256/0"})"), "key 'resize': is \"256/0\", allowed is " + pixels);
  EXPECT_EQ(message(R"({"resize": -4})"), "key 'resize': is -4, allowed is " + pixels);
  EXPECT_EQ(message(R"({"mean": [1, 2]})"), "key 'mean': is [1,2], allowed is a number or [r, g, b], in pixel values 0..255");
  EXPECT_EQ(message(R"({"mean": "x"})"), "key 'mean': is \"x\", allowed is a number or [r, g, b], in pixel values 0..255");
  EXPECT_EQ(message(R"({"std": 0})"), "key 'std': is 0, allowed is " + std_allowed);
  EXPECT_EQ(message(R"({"std": [0.229, 0.224, 0.225]})"), "key 'std': is [0.229,0.224,0.225], allowed is " + std_allowed);
  EXPECT_EQ(message(R"({"order": "gbr"})"), "key 'order': is \"gbr\", allowed is \"rgb\" or \"bgr\"");
  EXPECT_EQ(message(R"({"layout": "chw"})"), "key 'layout': is \"chw\", allowed is \"nchw\" or \"nhwc\"");
  EXPECT_EQ(message(R"({"letterbox": true, "pad": 256})"), "key 'pad': is 256, allowed is a grey level 0 to 255");
  EXPECT_EQ(message(R"({"letterbox": true, "crop": 3})"), "letterbox goes with neither resize nor crop");
  EXPECT_EQ(message(R"({"letterbox": true, "resize": 3})"), "letterbox goes with neither resize nor crop");
  EXPECT_EQ(message(R"({"resize": "stretch", "crop": 3})"), "resize \"stretch\" does not go with crop");
  EXPECT_EQ(message(R"({"pad": 3})"), "pad goes with letterbox only");
}

TEST(ReadPreprocess, TellsAFileFromAName) {
  EXPECT_EQ(error_of([] { (void)read_preprocess("yolov8"); }),
            "2 no preprocessing preset 'yolov8'; presets are yolo, imagenet, tf, unit, none");
  EXPECT_EQ(error_of([] { (void)read_preprocess("/absent/p.json"); }), "3 /absent/p.json: no such file");
}

}  // namespace
}  // namespace pare
