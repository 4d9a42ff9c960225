#include "store/Location.h"
#include "support/ErrorTesting.h"

#include <gmock/gmock.h>

#include <cstdlib>

using namespace lathe;
using namespace lathe::store;
using testing::HasSubstr;
using testing::Not;

TEST(Location, files) {
  for (const char *text : {"lathe.db", "/home/me/post.db", "postgresql.db", "postgresql:/x", "C:/x.db", ""}) {
    Location place(text);
    EXPECT_FALSE(place.isServer()) << text;
    EXPECT_EQ(place.text(), text);
    EXPECT_EQ(place.filesAt("/data"), text);
  }
  EXPECT_EQ(Location("/home/me/post.db").name(), "post.db");
  EXPECT_FALSE(Location("/no/such/file.db").mayExist());
}

TEST(Location, theTextHasNoPassword) {
  struct {
    const char *url, *shown, *name;
  } cases[] = {
      {"postgresql:///", "postgresql:///", "server"},
      {"postgresql://localhost/team", "postgresql://localhost/team", "localhost/team"},
      {"postgres://ann@db:5433/team", "postgres://ann@db:5433/team", "db:5433/team"},
      {"postgresql://ann:s3cret@db:5433/team", "postgresql://ann@db:5433/team", "db:5433/team"},
      {"postgresql://ann:s3cret@db/team#part", "postgresql://ann@db/team#part", "db/team"},
      {"postgresql://:s3cret@db/team", "postgresql://db/team", "db/team"},
      {"postgresql://ann:s3cret@/team?host=/run", "postgresql://ann@/team?host=/run", "team"},
      {"postgresql://ann:s3cret:s3cret@db", "postgresql://ann@db", "db"},
      {"postgresql://db/team?password=s3cret", "postgresql://db/team", "db/team"},
      {"postgresql://db/team?sslmode=require&password=s3cret&user=a", "postgresql://db/team?sslmode=require&user=a",
       "db/team"},
      {"postgresql://db/team?pass%77ord=s3cret&sslpassword=s3cret2", "postgresql://db/team", "db/team"},
      {"postgresql://ann:s3%40cret@a:1,b:2/my%20team", "postgresql://ann@a:1,b:2/my%20team", "a:1,b:2/my team"},
  };
  for (auto &one : cases) {
    Location place(one.url);
    EXPECT_TRUE(place.isServer());
    EXPECT_EQ(place.text(), one.shown);
    EXPECT_EQ(place.name(), one.name);
    EXPECT_EQ(place.secretUrl(), one.url);
    EXPECT_TRUE(place.mayExist());
    EXPECT_THAT(place.filesAt("/data"), testing::StartsWith("/data/postgresql-"));
    EXPECT_THAT(place.filesAt("/data"), Not(HasSubstr("s3")));
  }
  EXPECT_NE(Location("postgresql://a/x").filesAt("d"), Location("postgresql://a/y").filesAt("d"));
}

/// Characters that need an escape: the message says so without showing the password.
TEST(Location, urlsThatCannotBeRead) {
  for (const char *url : {"postgresql://ann:s3/cret@db/team", "postgresql://ann:s3@cret@db/team",
                          "postgresql://ann:s3?cret@db/team", "postgresql://ann:s3 cret@db/team",
                          "postgresql://ann:s3#cret@db/team", "postgresql://ann:s3cret@db/team?options=a@b",
                          "postgresql://db/team?password=s3@cret", "postgresql://ann@db:5433/team?password=s3@cret"}) {
    std::string message = errorOf([&] { Location place(url); });
    EXPECT_THAT(message, HasSubstr("write '@' as %40")) << url;
    EXPECT_THAT(message, Not(HasSubstr("s3"))) << url;
    EXPECT_THAT(message, Not(HasSubstr("cret"))) << url;
  }
}

TEST(Location, argumentsThatCannotBeRead) {
  std::string text = "postgresql://db/team?password=s3@cret";
  char *argument = text.data();
  hidePasswords({&argument, 1});
  EXPECT_STREQ(argument, "postgresql://db...");
  EXPECT_EQ(text.find("s3"), std::string::npos);
  EXPECT_THAT(errorOf([&] { Location place(argument); }), HasSubstr("postgresql://db...: expected a URL with one '@'"));
  ::unsetenv("LATHE_STORE_PASSWORDS");
}

TEST(Location, otherSchemes) {
  for (const char *url : {"mysql://ann:s3cret@db/team", "file:///tmp/x.db", "https://db/team"}) {
    std::string said = errorOf([&] { Location place(url); });
    EXPECT_THAT(said, HasSubstr("://...: expected a file or postgresql://HOST/DATABASE")) << url;
    EXPECT_EQ(said.find("s3cret"), said.npos);
  }
  EXPECT_EQ(Location("a/b://c.db").text(), "a/b://c.db");
}

TEST(Location, messagesOfOthers) {
  Location place("postgresql://ann:s3%40cret@db/team");
  EXPECT_EQ(place.withoutPasswords("for s3@cret and s3%40cret and s3@cret"), "for *** and *** and ***");
  EXPECT_EQ(place.withoutPasswords("nothing"), "nothing");
  EXPECT_EQ(Location("x.db").withoutPasswords("any"), "any");
}

TEST(Location, argumentsOfThisProcess) {
  ::unsetenv("LATHE_STORE_PASSWORDS");
  std::string texts[] = {"lathe",
                         "--store",
                         "postgresql://ann:s3cret@db/team",
                         "--store=postgres://b:other1@db/x?password=third1",
                         "model:with@sign",
                         "postgresql://nobody@db/y"};
  std::vector<char *> arguments;
  std::vector<size_t> lengths;
  for (std::string &text : texts) {
    arguments.push_back(text.data());
    lengths.push_back(text.size());
  }
  hidePasswords(arguments);
  EXPECT_STREQ(arguments[2], "postgresql://ann@db/team");
  EXPECT_STREQ(arguments[3], "--store=postgres://b@db/x");
  EXPECT_STREQ(arguments[4], "model:with@sign");
  EXPECT_STREQ(arguments[5], "postgresql://nobody@db/y");
  for (size_t i = 0; i < std::size(texts); ++i) // the rest of the argument is also overwritten
    for (const char *secret : {"s3cret", "other1", "third1"})
      EXPECT_EQ(std::string(arguments[i], lengths[i]).find(secret), std::string::npos);
  // Location finds the password, in this process and in child processes.
  EXPECT_EQ(Location(arguments[2]).secretUrl(), "postgresql://ann:s3cret@db/team");
  EXPECT_EQ(Location("postgres://b@db/x").secretUrl(), "postgres://b:other1@db/x?password=third1");
  EXPECT_EQ(Location("postgres://b@db/x").text(), "postgres://b@db/x");
  EXPECT_EQ(Location("postgres://c@db/x").secretUrl(), "postgres://c@db/x");
  EXPECT_EQ(Location("postgresql://ann@db/team").withoutPasswords("s3cret!"), "***!");
  ::unsetenv("LATHE_STORE_PASSWORDS");
}
