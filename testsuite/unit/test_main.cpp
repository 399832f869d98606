// testsuite/unit/test_main.cpp - main() of every unit test program.
#include <gtest/gtest.h>

#include "unit/cmocka_output.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  rota::testmain::install_listeners();
  return RUN_ALL_TESTS();
}
