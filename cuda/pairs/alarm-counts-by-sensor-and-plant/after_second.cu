// Alarms of each plant and week, counted by block first
//
// A block adds its sensors' counts up in shared memory and then to the plants' once. The series are
// still read 4 KB apart.
//
// /// kernelprof
// kernel = "count_alarms"
// block = [256]
// grid = ["SENSORS // 256"]
// reference = "reference:count_alarms"
// min_bytes = "4 * SENSORS * 1024"
//
// [sizes]
// SENSORS = 67584
//
// [check]
// sizes = { SENSORS = 1024 }
//
// [[arguments]]
// name = "readings"
// type = "float32"
// shape = ["SENSORS", 1024]
//
// [[arguments]]
// name = "plant"
// type = "int32"
// shape = ["SENSORS"]
// fill = "reference:plants"
//
// [[arguments]]
// name = "alarms"
// type = "uint32"
// shape = [16, 4]
// fill = "zeros"
// output = true
//
// [[arguments]]
// name = "limit"
// type = "float32"
// value = 0.75
//
// [[arguments]]
// name = "sensors"
// type = "int32"
// value = "SENSORS"
//
// [compile]
// standard = "c++17"
// flags = ["-O3"]
// ///

constexpr int WEEKS = 4;
constexpr int READINGS = 256;  // a week and sensor

extern "C" __global__ void count_alarms(const float* __restrict__ readings,
                                        const int* __restrict__ plant,
                                        unsigned int* __restrict__ alarms, float limit,
                                        int sensors) {
    __shared__ unsigned int here[16 * WEEKS];
    if (threadIdx.x < 16 * WEEKS) here[threadIdx.x] = 0;
    __syncthreads();
    const int sensor = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int above[WEEKS];
#pragma unroll
    for (int week = 0; week < WEEKS; ++week) {
        unsigned int count = 0;
#pragma unroll 16
        for (int k = week * READINGS; k < (week + 1) * READINGS; ++k) {
            count += readings[static_cast<size_t>(sensor) * (WEEKS * READINGS) + k] > limit;
        }
        above[week] = count;
    }
    const int at = plant[sensor] * WEEKS;
#pragma unroll
    for (int week = 0; week < WEEKS; ++week) atomicAdd(&here[at + week], above[week]);
    __syncthreads();
    if (threadIdx.x < 16 * WEEKS) atomicAdd(&alarms[threadIdx.x], here[threadIdx.x]);
}
