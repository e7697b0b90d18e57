#include "tests/support/suite.h"
SUITE_MAIN("x")
