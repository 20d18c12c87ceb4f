// Inputs, timing and the line of JSON that the programs of this folder share.
//
// Each program measures one kernel, k. -DFIX_A, -DFIX_B and -DFIX_C each remove one planted cause.
// The output is zeroed and L2 is filled with other data before each launch, as ncu does.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                                \
    do {                                                                           \
        const cudaError_t error_ = (call);                                         \
        if (error_ != cudaSuccess) {                                               \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));   \
            std::exit(1);                                                          \
        }                                                                          \
    } while (0)

__host__ __device__ inline unsigned hash32(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

__host__ __device__ inline double unit(size_t i, unsigned seed) {
    return hash32(static_cast<unsigned>(i) * 2654435761u + seed) * (1.0 / 4294967296.0);
}

template <class T>
__global__ void fill_uniform(T* values, size_t n, double low, double high, unsigned seed) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
         i += size_t(gridDim.x) * blockDim.x) {
        values[i] = static_cast<T>(low + (high - low) * unit(i, seed));
    }
}

template <class T>
T* zeros(size_t n) {
    T* values;
    CHECK(cudaMalloc(&values, n * sizeof(T)));
    CHECK(cudaMemset(values, 0, n * sizeof(T)));
    return values;
}

// Values in [low, high), the same in each run; integers are rounded down.
template <class T>
T* uniform(size_t n, double low, double high, unsigned seed) {
    T* values = zeros<T>(n);
    fill_uniform<<<1056, 256>>>(values, n, low, high, seed);
    CHECK(cudaDeviceSynchronize());
    return values;
}

template <class T>
T* upload(const std::vector<T>& host) {
    T* values = zeros<T>(host.size());
    CHECK(cudaMemcpy(values, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return values;
}

template <class T>
std::vector<T> download(const T* values, size_t n) {
    std::vector<T> host(n);
    CHECK(cudaMemcpy(host.data(), values, n * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

__global__ void evict_l2(const float4* values, size_t n, float* sink) {
    float sum = 0.0f;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
         i += size_t(gridDim.x) * blockDim.x) {
        sum += values[i].x + values[i].w;
    }
    if (sum < 0.0f) {
        *sink = sum;
    }
}

inline std::string variant() {
    std::string fixes;
#ifdef FIX_A
    fixes += "A";
#endif
#ifdef FIX_B
    fixes += "B";
#endif
#ifdef FIX_C
    fixes += "C";
#endif
    return fixes.empty() ? "0" : fixes;
}

// Launch once to warm up and five times measured; print the median and a checksum of the output.
template <class T, class Launch>
void measure(std::string file, T* output, size_t n, Launch launch) {
    constexpr int kLaunches = 5;
    constexpr size_t kEvicted = size_t(12) << 20;
    float4* other = zeros<float4>(kEvicted);
    float* sink = zeros<float>(1);
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    std::vector<float> times;
    for (int i = 0; i <= kLaunches; ++i) {
        CHECK(cudaMemsetAsync(output, 0, n * sizeof(T)));
        evict_l2<<<1056, 256>>>(other, kEvicted, sink);
        CHECK(cudaEventRecord(start));
        launch();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        if (i > 0) {
            times.push_back(1e3f * ms);
        }
    }
    std::sort(times.begin(), times.end());
    const std::vector<T> values = download(output, n);
    double sum = 0.0, weighted = 0.0;
    for (size_t i = 0; i < n; ++i) {
        const double value = static_cast<double>(values[i]);
        sum += std::fabs(value);
        weighted += unit(i, 77) * value;
    }
    file = file.substr(file.find_last_of('/') + 1);
    file = file.substr(0, file.rfind(".cu"));
    std::printf("{\"name\": \"%s\", \"variant\": \"%s\", \"us\": %.3f, ", file.c_str(),
                variant().c_str(), times[kLaunches / 2]);
    std::printf("\"checksum\": %.12g, \"sampled\": [", sum + weighted);
    for (unsigned j = 0; j < 16; ++j) {
        std::printf("%s%.9g", j == 0 ? "" : ", ", static_cast<double>(values[hash32(j + 1) % n]));
    }
    std::printf("]}\n");
}

#define MEASURE(output, n, ...) measure(__FILE__, output, n, [&] { __VA_ARGS__; })
