// What a source has under nvcc without an #include (CUDA 13.0 with GCC 12).
#pragma once
#include <algorithm>
#include <assert.h>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
// nvcc warns of it, NVRTC refuses it from C++17 on.
#define register
