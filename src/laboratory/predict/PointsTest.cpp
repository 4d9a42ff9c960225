#include "predict/Points.h"

#include <gtest/gtest.h>
