#include "support/Npy.h"
#include "support/ErrorTesting.h"
#include "support/File.h"
#include "support/zip/ArrayNames.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

using namespace lathe;
using ::testing::ElementsAre;

namespace {

/// A temporary directory, removed at the end.
class NpyTest : public ::testing::Test {
protected:
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("lathe-npy-" + std::to_string(::getpid()));
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string file(const std::string &name) { return (folder / name).string(); }
  void python(const std::string &code) {
    std::ofstream(file("make.py")) << "import numpy as np\n" + code;
    std::string command = "cd '" + folder.string() + "' && /usr/bin/python3 make.py";
    ASSERT_EQ(std::system(command.c_str()), 0) << code;
  }
  template <class T> std::vector<T> values(const NpyArray &array) {
    std::vector<T> result(array.data.size() / sizeof(T));
    if (!array.data.empty())
      std::memcpy(result.data(), array.data.data(), array.data.size());
    return result;
  }
};

TEST_F(NpyTest, readsWhatNumpyWrites) {
  python("for t in 'f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1'.split(): np.save(t, np.arange(6).reshape(2, 3).astype(t))\n"
         "np.save('fortran', np.asfortranarray(np.arange(24, dtype='i4').reshape(2, 3, 4)))\n"
         "np.save('big', np.arange(3, dtype='>f4'))\n"
         "np.save('scalar', np.float32(7))\n"
         "np.save('empty', np.zeros((0, 3), 'f4'))\n"
         "np.save('words', np.array(['a', 'b\\u00e9\\u4e16', '']))\n"
         "np.save('bytes', np.array([b'x', b'yz']))\n"
         "np.lib.format.write_array(open('v2.npy', 'wb'), np.arange(4, dtype='f4'), version=(2, 0))\n"
         "np.lib.format.write_array(open('v3.npy', 'wb'), np.arange(4, dtype='f4'), version=(3, 0))\n");
  struct Case {
    const char *name;
    ElementType type;
  } cases[] = {{"f2", ElementType::f16}, {"f4", ElementType::f32}, {"f8", ElementType::f64},
               {"i1", ElementType::i8},  {"i2", ElementType::i16}, {"i4", ElementType::i32},
               {"i8", ElementType::i64}, {"u1", ElementType::u8},  {"u2", ElementType::u16},
               {"u4", ElementType::u32}, {"u8", ElementType::u64}, {"b1", ElementType::boolean}};
  for (const Case &c : cases) {
    NpyArray array = readNpy(file(std::string(c.name) + ".npy"));
    EXPECT_EQ(array.type, c.type) << c.name;
    EXPECT_THAT(array.dims, ElementsAre(2, 3));
    EXPECT_EQ(array.data.size(), 6 * bitWidth(c.type) / 8);
  }
  EXPECT_THAT(values<float>(readNpy(file("f4.npy"))), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values<int64_t>(readNpy(file("i8.npy"))), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values<uint8_t>(readNpy(file("b1.npy"))), ElementsAre(0, 1, 1, 1, 1, 1));
  EXPECT_THAT(values<uint16_t>(readNpy(file("f2.npy"))), ElementsAre(0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500));
  std::vector<int32_t> counted(24);
  for (int i = 0; i < 24; ++i)
    counted[i] = i;
  EXPECT_EQ(values<int32_t>(readNpy(file("fortran.npy"))), counted);
  EXPECT_THAT(values<float>(readNpy(file("big.npy"))), ElementsAre(0, 1, 2));
  EXPECT_TRUE(readNpy(file("scalar.npy")).dims.empty());
  EXPECT_THAT(readNpy(file("empty.npy")).dims, ElementsAre(0, 3));
  EXPECT_THAT(readNpy(file("words.npy")).strings, ElementsAre("a", "b\u00e9\u4e16", ""));
  EXPECT_THAT(readNpy(file("bytes.npy")).strings, ElementsAre("x", "yz"));
  EXPECT_THAT(values<float>(readNpy(file("v2.npy"))), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(values<float>(readNpy(file("v3.npy"))), ElementsAre(0, 1, 2, 3));
}

TEST_F(NpyTest, numpyReadsWhatIsWritten) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  uint8_t flags[3] = {1, 0, 1};
  int64_t matrix[] = {2, 3}, vector[] = {3};
  writeNpy(file("a.npy"), {ElementType::f32, matrix, data});
  writeNpy(file("s.npy"), {ElementType::f32, {}, data});
  NpzEntry entries[] = {{"x", {ElementType::f32, matrix, data}}, {"y/z", {ElementType::boolean, vector, flags}}};
  writeNpz(file("b.npz"), entries);
  python("a = np.load('a.npy'); assert a.dtype == np.float32 and (a == np.arange(6).reshape(2, 3)).all()\n"
         "assert np.load('s.npy').shape == ()\n"
         "b = np.load('b.npz'); assert b.files == ['x', 'y/z'] and (b['x'] == a).all()\n"
         "assert b['y/z'].dtype == np.bool_ and b['y/z'].tolist() == [True, False, True]\n");
  std::vector<NpzMember> members = readNpz(file("b.npz"));
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[1].name, "y/z");
  EXPECT_THAT(values<uint8_t>(members[1].array), ElementsAre(1, 0, 1));
  EXPECT_EQ(errorOf([&] { npyBytes({ElementType::f8e5m2, vector, flags}); }), "NumPy has no element type f8e5m2");
  EXPECT_EQ(errorOf([&] { writeNpy("/nowhere/x.npy", {ElementType::f32, matrix, data}); }),
            "/nowhere/x.npy: cannot write: No such file or directory");
}

TEST_F(NpyTest, namesFromStrangersStayInTheirFolder) {
  std::vector<std::string> names = {"../../evil",
                                    "/etc/x",
                                    "a/b",
                                    "a_b",
                                    "a/b",
                                    "",
                                    "..",
                                    "x\\y:0",
                                    "\x1b[2J\n",
                                    "\xff",
                                    std::string(300, 'n'),
                                    "caf\u00e9",
                                    std::string("nul\0l", 5)};
  EXPECT_THAT(fileNames(names), ElementsAre(".._.._evil", "_etc_x", "a_b_2", "a_b", "a_b_3", "_", "_..", "x_y_0",
                                            "_[2J_", "__2", std::string(200, 'n'), "caf\u00e9", "nul_l"));
  EXPECT_THAT(memberNames(names), ElementsAre("_../_../evil", "_/etc/x", "a/b", "a_b", "a/b_2", "_", "_..", "x_y:0",
                                              "_[2J_", "__2", std::string(200, 'n'), "caf\u00e9", "nul_l"));
  float data[1] = {1};
  int64_t one[] = {1};
  NpzEntry entries[] = {{"../../evil", {ElementType::f32, one, data}}, {"y/z", {ElementType::f32, one, data}}};
  writeNpz(file("evil.npz"), entries);
  EXPECT_EQ(readNpz(file("evil.npz"))[0].name, "_../_../evil");
  python("assert np.load('evil.npz').files == ['_../_../evil', 'y/z']\n");
}

TEST_F(NpyTest, membersThatShareTheirDataAreRefused) {
  // A few kilobytes that would unpack to any size.
  python("import zipfile, struct\n"
         "np.savez_compressed('one', x=np.zeros(1 << 20, 'f4'))\n"
         "b = open('one.npz', 'rb').read(); end = b.rindex(b'PK\\x05\\x06'); at = b.index(b'PK\\x01\\x02')\n"
         "entry = b[at:end]; n = 1000\n"
         "open('many.npz', 'wb').write(b[:at] + entry * n + struct.pack('<IHHHHIIH', 0x06054b50, 0, 0, n, n, "
         "len(entry) * n, at, "
         "0))\n");
  EXPECT_THAT(errorOf([&] { readNpz(file("many.npz")); }), ::testing::HasSubstr("overlaps others"));
}

TEST_F(NpyTest, readsArchives) {
  python("x = np.arange(1000, dtype='f4').reshape(10, 100)\n"
         "np.savez('stored', x=x, y=np.int64(3))\n"
         "np.savez_compressed('deflated', x=x, y=np.int64(3))\n");
  for (const char *name : {"stored.npz", "deflated.npz"}) {
    std::vector<NpzMember> members = readNpz(file(name));
    ASSERT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0].name, "x");
    EXPECT_EQ(values<float>(members[0].array)[999], 999.0f);
    EXPECT_THAT(values<int64_t>(members[1].array), ElementsAre(3));
  }
}

/// Unwanted members are not unpacked: the members here are damaged.
TEST_F(NpyTest, headersAreReadFirst) {
  python(
      "import zipfile\n"
      "np.savez_compressed('good', x=np.arange(4, dtype='f4'), big=np.zeros(1 << 20, 'f8'))\n"
      "b = bytearray(open('good.npz', 'rb').read())\n"
      "i = zipfile.ZipFile('good.npz').getinfo('big.npy'); b[i.header_offset + 30 + 7 + i.compress_size - 9] ^= 255\n"
      "open('damaged.npz', 'wb').write(b)\n"
      "z = zipfile.ZipFile('lie.npz', 'w', zipfile.ZIP_DEFLATED); z.writestr('x.npy', b'\\x93NUMPY\\x01\\0\\x40\\0' + "
      "b\"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\".ljust(64) + bytes(1 << 20)); z.close()\n");
  std::map<std::string, std::vector<int64_t>> asked;
  auto onlyX = [&](const std::string &name, const NpyHeader &header) {
    asked[name] = header.dims;
    return name == "x";
  };
  std::vector<NpzMember> members = readNpz(file("damaged.npz"), onlyX);
  ASSERT_EQ(members.size(), 1u);
  EXPECT_EQ(values<float>(members[0].array)[3], 3.0f);
  EXPECT_THAT(asked["big"], ElementsAre(1 << 20));
  EXPECT_THAT(errorOf([&] { readNpz(file("damaged.npz")); }), ::testing::HasSubstr("is damaged"));
  EXPECT_THAT(errorOf([&] { readNpz(file("good.npz"), [](auto &, auto &) -> bool { fail("nobody wants it"); }); }),
              "nobody wants it");
  EXPECT_THAT(errorOf([&] { readNpz(file("lie.npz")); }),
              ::testing::HasSubstr("1048576 bytes of data, expected 3 elements of 4 bytes"));
}

TEST_F(NpyTest, namesWhatIsMalformed) {
  EXPECT_EQ(errorOf([&] { readNpy("/nowhere.npy"); }), "/nowhere.npy: cannot open: No such file or directory");
  EXPECT_EQ(errorOf([&] { parseNpy(std::vector<char>(3), "x.npy"); }),
            "x.npy: expected a .npy array, got another kind of file");
  auto header = [](const std::string &text, size_t data) {
    std::vector<char> bytes = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(text.size()), 0};
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.resize(bytes.size() + data);
    return bytes;
  };
  EXPECT_EQ(errorOf([&] { parseNpy(header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8), "x.npy"); }),
            "x.npy: .npy type '<c8' is not supported");
  EXPECT_EQ(errorOf([&] { parseNpy(header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7), "x.npy"); }),
            "x.npy: 7 bytes of data, expected 2 elements of 4 bytes");
  EXPECT_EQ(errorOf([&] {
              parseNpy(header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", 0),
                       "x.npy");
            }),
            "x.npy: malformed .npy header: the extents 4611686018427387904x8 need more than 2^63 bytes");
}

TEST_F(NpyTest, survivesAnyAlteration) {
  python("np.save('a', np.asfortranarray(np.arange(24, dtype='i4').reshape(2, 3, 4)))\n"
         "np.save('s', np.array(['ab', 'c']))\n"
         "np.savez_compressed('z', x=np.arange(100, dtype='f4'), y=np.int64(3))\n"
         "np.savez('n', x=np.arange(10, dtype='f4'), y=np.int64(3))\n");
  unsigned seed = std::random_device()();
  if (const char *given = std::getenv("LATHE_TEST_SEED"))
    seed = static_cast<unsigned>(std::stoul(given));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const char *name : {"a.npy", "s.npy", "z.npz", "n.npz"}) {
    const std::vector<char> good = readFile(file(name));
    auto parse = [&](const std::vector<char> &bytes) {
      try {
        if (std::string(name).ends_with(".npz"))
          parseNpz(bytes, name);
        else
          parseNpy(bytes, name);
      } catch (const Error &) {
      }
    };
    for (size_t length = 0; length < good.size(); ++length)
      parse(std::vector<char>(good.begin(), good.begin() + static_cast<ptrdiff_t>(length)));
    for (int round = 0; round < 3000; ++round) {
      std::vector<char> bytes = good;
      for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
        bytes[random() % bytes.size()] =
            static_cast<char>(random() % 3 ? random() : "'(,)0129<>|fiU\xff"[random() % 15]);
      parse(bytes);
    }
  }
}

} // namespace
