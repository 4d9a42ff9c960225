// Loads PostgreSQL's client library libpq when the first URL is opened. Programs that use only files do not need the
// library, nor the time to load it with its libraries for TLS, Kerberos and LDAP.
#pragma once

#include <libpq-fe.h>

#include <string>

namespace lathe::store {

// Pointers to the functions of libpq, the client library of PostgreSQL, that the store uses.
#define LATHE_LIBPQ(F)                                                                                                 \
  F(clear)                                                                                                             \
  F(cmdStatus)                                                                                                         \
  F(cmdTuples)                                                                                                         \
  F(connectdbParams)                                                                                                   \
  F(errorMessage)                                                                                                      \
  F(exec)                                                                                                              \
  F(execParams)                                                                                                        \
  F(finish)                                                                                                            \
  F(getResult)                                                                                                         \
  F(getisnull)                                                                                                         \
  F(getlength)                                                                                                         \
  F(getvalue)                                                                                                          \
  F(ntuples)                                                                                                           \
  F(parameterStatus)                                                                                                   \
  F(pingParams)                                                                                                        \
  F(resultErrorField)                                                                                                  \
  F(resultStatus)                                                                                                      \
  F(sendQueryParams)                                                                                                   \
  F(serverVersion)                                                                                                     \
  F(setNoticeProcessor)                                                                                                \
  F(setSingleRowMode)                                                                                                  \
  F(status)

/// Pointers to the functions of libpq: `exec` points to PQexec, and so on.
struct Libpq {
#define LATHE_LIBPQ_MEMBER(NAME) decltype(&::PQ##NAME) NAME = nullptr;
  LATHE_LIBPQ(LATHE_LIBPQ_MEMBER)
#undef LATHE_LIBPQ_MEMBER
};

/// Loads libpq once. Throws Error that names `place`, the store, if libpq is not installed.
const Libpq &libpq(const std::string &place);

} // namespace lathe::store
