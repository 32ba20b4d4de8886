#include "data/npy.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "tests/data/scratch.h"

namespace pare {
namespace {

using testing::ElementsAre;

struct Typed {
  const char* name;
  DType type;
};

constexpr Typed kTyped[] = {{"f4", DType::f32}, {"f8", DType::f64}, {"f2", DType::f16}, {"i8", DType::i64},
                            {"i4", DType::i32}, {"i2", DType::i16}, {"i1", DType::i8},  {"u8", DType::u64},
                            {"u4", DType::u32}, {"u2", DType::u16}, {"u1", DType::u8},  {"b1", DType::boolean}};

TEST(ReadNpy, ReadsEachType) {
  for (const Typed& row : kTyped) {
    SCOPED_TRACE(row.name);
    const Tensor tensor = read_npy(kGolden + row.name + ".npy");
    EXPECT_EQ(tensor.type(), row.type);
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    // u32 and u64 have no to_floats: the low byte of each element tells.
    const size_t size = dtype_size(row.type);
    for (size_t e = 0; e < 6; ++e) {
      const float value = row.type == DType::boolean ? float(e > 0) : float(e);
      const bool wide = row.type == DType::u32 || row.type == DType::u64;
      EXPECT_EQ(wide ? float(tensor.raw()[e * size]) : to_floats(tensor)[e], value);
    }
  }
}

TEST(ReadNpy, TurnsFortranOrder) {
  const Tensor tensor = read_npy(kGolden + "fortran.npy");
  EXPECT_EQ(tensor.shape(), (Shape{2, 3, 4}));
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(tensor.as<float>()[i], static_cast<float>(i));
}

TEST(ReadNpy, ReadsScalarsEmptyArraysAndVersion2) {
  EXPECT_EQ(read_npy(kGolden + "scalar.npy"), Tensor::scalar(7.F));
  EXPECT_EQ(read_npy(kGolden + "no_rows.npy").shape(), (Shape{0, 3}));
  EXPECT_EQ(read_npy(kGolden + "version2.npy"), read_npy(kGolden + "f4.npy"));
}

TEST(ReadNpy, RefusesTypesByName) {
  const std::string known = ", allowed are <f4 <f8 <f2 <i8 <i4 <i2 |i1 <u8 <u4 <u2 |u1 |b1";
  EXPECT_EQ(error_of([] { (void)read_npy(kGolden + "big_endian.npy"); }),
            "3 " + kGolden + "big_endian.npy: holds elements of type '>f4'" + known);
  EXPECT_EQ(error_of([] { (void)read_npy(kGolden + "complex.npy"); }),
            "3 " + kGolden + "complex.npy: holds elements of type '<c8'" + known);
  EXPECT_EQ(error_of([] { (void)read_npy(kGolden + "records.npy"); }),
            "3 " + kGolden + "records.npy: holds records, allowed are plain numbers");
}

TEST(ReadNpy, RefusesEveryTruncation) {
  const std::string whole = read_file(kGolden + "f4.npy");
  for (size_t n = 6; n < whole.size(); ++n)
    EXPECT_TRUE(error_of([&] { (void)parse_npy(whole.substr(0, n)); }).starts_with("3 the .npy ends early")) << n;
  EXPECT_EQ(error_of([&] { (void)parse_npy(whole.substr(0, whole.size() - 1)); }),
            "3 the .npy ends early: holds 23 bytes of data, 2x3 of float needs 24");
  EXPECT_EQ(error_of([&] { (void)parse_npy(whole.substr(0, 5)); }), "3 not a .npy file");
  EXPECT_EQ(error_of([] { (void)read_npy(kGolden + "text.jpg"); }), "3 " + kGolden + "text.jpg: not a .npy file");
}

std::string with_header(const std::string& dict) {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dict.size()) + '\0' + dict;
}

TEST(ReadNpy, RefusesDamagedHeaders) {
  const auto reason = [](const std::string& dict) { return error_of([&] { (void)parse_npy(with_header(dict)); }); };
  const std::string start = "{'descr': '<f4', 'fortran_order': False, ";
  EXPECT_EQ(reason("{}"), "3 has a damaged .npy header: no 'descr'");
  EXPECT_EQ(reason(start + "}"), "3 has a damaged .npy header: no 'shape'");
  EXPECT_EQ(reason(start + "'shape': 3}"), "3 has a damaged .npy header: no shape");
  EXPECT_EQ(reason(start + "'shape': (a,)}"), "3 has a damaged .npy header: shape (a,)");
  EXPECT_EQ(reason(start + "'shape': (-1,)}"), "3 has a damaged .npy header: shape (-1,)");
  EXPECT_EQ(reason(start + "'shape': (4294967296, 4294967296)}"), "3 has a damaged .npy header: shape 4294967296x4294967296");
}

TEST(ReadNpz, ReadsStoredAndDeflated) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    SCOPED_TRACE(name);
    const auto arrays = read_npz(kGolden + name);
    ASSERT_EQ(arrays.size(), 2U);
    EXPECT_EQ(arrays[0].first, "image");
    EXPECT_EQ(arrays[0].second.shape(), (Shape{2, 3, 4}));
    EXPECT_EQ(arrays[0].second.as<float>()[23], 23);
    EXPECT_EQ(arrays[1].first, "size");
    EXPECT_THAT(arrays[1].second.as<int64_t>(), ElementsAre(5, 6));
  }
}

TEST(ReadNpz, RefusesBrokenArchives) {
  const Scratch scratch;
  const auto reason = [&](const std::string& content) {
    const std::string file = scratch.write("a.npz", content);
    const std::string full = error_of([&] { (void)read_npz(file); });
    return full.starts_with("3 " + file + ": ") ? full.substr(file.size() + 4) : full;
  };
  std::string archive = read_file(kGolden + "deflated.npz");
  EXPECT_EQ(reason("not a zip"), "not an .npz file, or it ends early");
  EXPECT_EQ(reason(""), "empty file");
  EXPECT_EQ(reason(archive.substr(0, archive.size() / 2)), "not an .npz file, or it ends early");
  std::string flipped = archive;
  flipped[60] = static_cast<char>(~flipped[60]);
  EXPECT_TRUE(reason(flipped).starts_with("array 'image': cannot be unpacked: ")) << reason(flipped);
  std::string huge = archive;
  const size_t directory = huge.find("PK\x01\x02");
  huge.replace(directory + 24, 4, "\xFF\xFF\xFF\x7F");  // the uncompressed size of the first entry
  EXPECT_EQ(reason(huge), "array 'image': is damaged: its size cannot be true");
  std::string text = read_file(kGolden + "stored.npz");
  for (size_t at = 0; (at = text.find("NUMPY", at)) != std::string::npos;) text[at] = 'M';
  EXPECT_TRUE(reason(text).starts_with("array 'image': "));
}

TEST(WriteNpy, IsWhatNumpyWrites) {
  const Scratch scratch;
  for (const Typed& row : kTyped) {
    const std::string source = kGolden + row.name + ".npy";
    write_npy(scratch.path("a.npy"), read_npy(source));
    EXPECT_EQ(read_npy(scratch.path("a.npy")), read_npy(source)) << row.name;
    EXPECT_EQ(read_file(scratch.path("a.npy")).size() % 64, read_file(source).size() % 64) << row.name;
  }
  write_npy(scratch.path("scalar.npy"), Tensor::scalar(7.F));
  EXPECT_EQ(read_npy(scratch.path("scalar.npy")), Tensor::scalar(7.F));
}

TEST(WriteNpy, RefusesWhatItCannotWrite) {
  EXPECT_EQ(error_of([] { write_npy("a.npy", Tensor(DType::bf16, {1})); }), "4 a.npy: NumPy has no type for bfloat16");
  EXPECT_TRUE(error_of([] { write_npy("/absent/a.npy", Tensor::scalar(1.F)); }).starts_with("6 /absent/a.npy: "));
}

TEST(ReadArrays, TellsNpyFromNpz) {
  EXPECT_EQ(read_arrays(kGolden + "stored.npz").size(), 2U);
  const auto one = read_arrays(kGolden + "f4.npy");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].first, "");
}

}  // namespace
}  // namespace pare
