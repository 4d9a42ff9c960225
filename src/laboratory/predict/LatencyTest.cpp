#include "predict/Latency.h"

#include <gtest/gtest.h>
