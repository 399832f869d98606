// testsuite/unit/testmain/thermometer.c - C code under test: it knows nothing of C++.
#include "unit/testmain/thermometer.h"

int thermometer_mean(const char* name, int reading_count) {
  const int sensor = sensor_open(name);
  int sum = 0;
  if (sensor < 0 || reading_count <= 0) return -1;
  for (int i = 0; i < reading_count; ++i) {
    const int reading = sensor_read(sensor, i);
    if (reading < 0) {
      sensor_close(sensor);
      return -1;
    }
    sum += reading;
  }
  sensor_close(sensor);
  return sum / reading_count;
}
