// testsuite/unit/testmain/thermometer.h - a small piece of C, for the test of the CMocka layer.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// What the thermometer stands on; the tests put mocks in its place.
int sensor_open(const char* name);
int sensor_read(int sensor, int index);
void sensor_close(int sensor);

// The mean of the readings, rounded down; -1 when the sensor cannot be opened or read.
int thermometer_mean(const char* name, int reading_count);

#ifdef __cplusplus
}
#endif
