#include "data/npy.h"

#include <zip.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "base/file.h"

namespace pare {
namespace {

struct NumpyType {
  std::string_view descr;
  DType type;
};

constexpr std::array<NumpyType, 12> kTypes{{{"<f4", DType::f32},
                                            {"<f8", DType::f64},
                                            {"<f2", DType::f16},
                                            {"<i8", DType::i64},
                                            {"<i4", DType::i32},
                                            {"<i2", DType::i16},
                                            {"|i1", DType::i8},
                                            {"<u8", DType::u64},
                                            {"<u4", DType::u32},
                                            {"<u2", DType::u16},
                                            {"|u1", DType::u8},
                                            {"|b1", DType::boolean}}};

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  DType type = DType::undefined;
  bool fortran = false;
  Shape shape;
  size_t data_bytes = 0;
};

Error damaged(const std::string& what) { return Error(ErrorKind::input, "has a damaged .npy header: " + what); }

// The text behind `'key':` in the header's Python dict.
std::string_view value_of(std::string_view dict, std::string_view key) {
  const size_t at = dict.find("'" + std::string(key) + "'");
  const size_t colon = at == std::string_view::npos ? at : dict.find(':', at);
  if (colon == std::string_view::npos) throw damaged("no '" + std::string(key) + "'");
  const std::string_view rest = dict.substr(colon + 1);
  return rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
}

DType parse_type(std::string_view text) {
  if (text.empty() || text[0] != '\'') throw Error(ErrorKind::input, "holds records, allowed are plain numbers");
  const std::string_view descr = text.substr(1, text.find('\'', 1) - 1);
  std::string known;
  for (const NumpyType& row : kTypes) {
    if (row.descr == descr) return row.type;
    known += (known.empty() ? "" : " ") + std::string(row.descr);
  }
  throw Error(ErrorKind::input, "holds elements of type '" + std::string(descr) + "', allowed are " + known);
}

Shape parse_shape(std::string_view text) {
  const size_t close = text.find(')');
  if (text.empty() || text[0] != '(' || close == std::string_view::npos) throw damaged("no shape");
  Shape shape;
  for (size_t at = 1; (at = text.find_first_not_of(" ,", at)) < close;) {
    int64_t dimension = -1;
    const auto [stop, fault] = std::from_chars(text.data() + at, text.data() + close, dimension);
    if (fault != std::errc() || dimension < 0) throw damaged("shape " + std::string(text.substr(0, close + 1)));
    shape.push_back(dimension);
    at = static_cast<size_t>(stop - text.data());
  }
  return shape;
}

Header parse_header(std::string_view dict) {
  Header header{.type = parse_type(value_of(dict, "descr")),
                .fortran = value_of(dict, "fortran_order").starts_with("True"),
                .shape = parse_shape(value_of(dict, "shape")),
                .data_bytes = 0};
  header.data_bytes = dtype_size(header.type);
  for (const int64_t dimension : header.shape)
    if (__builtin_mul_overflow(header.data_bytes, static_cast<size_t>(dimension), &header.data_bytes))
      throw damaged("shape " + shape_text(header.shape));
  return header;
}

std::vector<std::byte> row_major(std::span<const std::byte> columns, const Shape& shape, size_t element) {
  std::vector<std::byte> rows(columns.size());
  std::vector<size_t> stride(shape.size());
  size_t step = element;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= static_cast<size_t>(shape[d]);
  }
  for (size_t to = 0; to < rows.size(); to += element) {
    size_t from = 0;
    size_t rest = to / element;
    for (size_t d = shape.size(); d-- > 0; rest /= static_cast<size_t>(shape[d]))
      from += rest % static_cast<size_t>(shape[d]) * stride[d];
    std::copy_n(columns.begin() + static_cast<std::ptrdiff_t>(from), element, rows.begin() + static_cast<std::ptrdiff_t>(to));
  }
  return rows;
}

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

std::string read_entry(zip_t* archive, zip_uint64_t index) {
  constexpr zip_uint64_t kDeflateLimit = 1032;  // no deflate stream shrinks further
  zip_stat_t stat{};
  if (zip_stat_index(archive, index, 0, &stat) != 0 || stat.size / kDeflateLimit > stat.comp_size)
    throw Error(ErrorKind::input, "is damaged: its size cannot be true");
  const std::unique_ptr<zip_file_t, CloseZip> entry(zip_fopen_index(archive, index, 0));
  std::string bytes(stat.size, '\0');
  char beyond = 0;  // libzip compares the checksum when the end is read
  if (!entry || zip_fread(entry.get(), bytes.data(), bytes.size()) != static_cast<zip_int64_t>(bytes.size()) ||
      zip_fread(entry.get(), &beyond, 1) != 0)
    throw Error(ErrorKind::input,
                "cannot be unpacked: " + std::string(entry ? zip_file_strerror(entry.get()) : zip_strerror(archive)));
  return bytes;
}

}  // namespace

Tensor parse_npy(std::string_view bytes) {
  const auto byte = [&](size_t i) { return size_t{static_cast<unsigned char>(bytes[i])}; };
  if (!bytes.starts_with(kMagic)) throw Error(ErrorKind::input, "not a .npy file");
  const size_t start = bytes.size() > 6 && byte(6) == 1 ? 10 : 12;
  if (bytes.size() < start) throw Error(ErrorKind::input, "the .npy ends early");
  const size_t length = start == 10 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (bytes.size() < start + length) throw Error(ErrorKind::input, "the .npy ends early");

  const Header header = parse_header(bytes.substr(start, length));
  const auto data = std::as_bytes(std::span(bytes)).subspan(start + length);
  if (data.size() < header.data_bytes)
    throw Error(ErrorKind::input, "the .npy ends early: holds " + std::to_string(data.size()) + " bytes of data, " +
                                      shape_text(header.shape) + " of " + dtype_name(header.type) + " needs " +
                                      std::to_string(header.data_bytes));
  const auto elements = data.first(header.data_bytes);
  if (header.fortran && header.shape.size() > 1)
    return Tensor(header.type, header.shape, row_major(elements, header.shape, dtype_size(header.type)));
  return Tensor(header.type, header.shape, {elements.begin(), elements.end()});
}

Tensor read_npy(const std::string& file) {
  const std::string bytes = read_file(file);
  try {
    return parse_npy(bytes);
  } catch (Error& e) {
    throw e.at(file);
  }
}

std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& file) {
  std::string packed = read_file(file);
  if (packed.empty()) throw Error(ErrorKind::input, "empty file").at(file);
  const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> source(
      zip_source_buffer_create(packed.data(), packed.size(), 0, nullptr), zip_source_free);
  const std::unique_ptr<zip_t, CloseZip> archive(source ? zip_open_from_source(source.get(), ZIP_RDONLY, nullptr) : nullptr);
  if (!archive) throw Error(ErrorKind::input, "not an .npz file, or it ends early").at(file);
  zip_source_keep(source.get());

  std::vector<std::pair<std::string, Tensor>> arrays;
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(entries); ++i) {
    const char* stored = zip_get_name(archive.get(), i, 0);
    std::string name = stored != nullptr ? stored : "";
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    try {
      arrays.emplace_back(name, parse_npy(read_entry(archive.get(), i)));
    } catch (Error& e) {
      throw e.at("array '" + name + "'").at(file);
    }
  }
  return arrays;
}

std::vector<std::pair<std::string, Tensor>> read_arrays(const std::string& file) {
  if (file.ends_with(".npz")) return read_npz(file);
  return {{"", read_npy(file)}};
}

void write_npy(const std::string& file, const Tensor& tensor) {
  const auto row = std::find_if(kTypes.begin(), kTypes.end(), [&](const NumpyType& t) { return t.type == tensor.type(); });
  if (row == kTypes.end()) throw Error(ErrorKind::unsupported, "NumPy has no type for " + dtype_name(tensor.type())).at(file);
  std::string shape;
  for (const int64_t dimension : tensor.shape()) shape += std::to_string(dimension) + ", ";
  std::string dict = "{'descr': '" + std::string(row->descr) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  dict.resize((kMagic.size() + 4 + dict.size()) / 64 * 64 + 64 - kMagic.size() - 4, ' ');
  dict.back() = '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\0', static_cast<char>(dict.size() & 0xFF), static_cast<char>(dict.size() >> 8)};
  bytes += dict;
  const auto raw = tensor.raw();
  bytes.append(reinterpret_cast<const char*>(raw.data()), raw.size());
  write_file(file, bytes);
}

}  // namespace pare
