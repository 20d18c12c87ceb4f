#include <cuda_fp16.h>
#include <cstdint>
template <int N> __global__ void tile(float* a) { a[threadIdx.x] *= N; }
template <bool B, unsigned U, char C, size_t S, int M> __global__ void kinds(float* a) { a[threadIdx.x] *= B + U + C + S + M; }
enum E { e0, e1 }; namespace ns { enum class G { g0, g1 }; struct P { int x; }; template <class T, int N> struct Box { T v[N]; }; }
template <E e, ns::G g> __global__ void enums(float* a) { a[threadIdx.x] *= (int)e + (int)g; }
template <class T> __global__ void types(T* a) { a[threadIdx.x] = T(); }
template <class T, class V> __global__ void pairs(T* a, V v) { a[threadIdx.x] = T(); }
namespace ns { template <class T> __global__ void vec(T* a, int n) { if (threadIdx.x < n) a[threadIdx.x * 2] += 1; }
 __global__ void flat(float* a) { a[threadIdx.x] += 1; } namespace in { __global__ void flat(float* a) { a[threadIdx.x] += 2; } } }
namespace { template <int N> __global__ void hid(float* a) { a[threadIdx.x] += N; } }
template <float (*f)(float)> __global__ void fptr(float* a) { a[threadIdx.x] = f(a[threadIdx.x]); }
__device__ float twice(float x) { return 2 * x; }
template <class F> __global__ void lam(F f, float* a) { a[threadIdx.x] = f(a[threadIdx.x]); }
template <int... I> __global__ void pack(float* a) { a[threadIdx.x] *= (I + ...); }
extern "C" __global__ void plain(float* a) { a[threadIdx.x + blockIdx.x * blockDim.x] += 2; }
__global__ void over(float* a) { a[threadIdx.x] += 1; } __global__ void over(float* a, int n) { a[threadIdx.x] += n; }
int main(int c, char** v) {
  float* a; cudaMalloc(&a, 1 << 24); cudaMemset(a, 0, 1 << 24);
  if (c > 1) { for (int i = 0; i < 3; ++i) { tile<16><<<64, 64>>>(a); tile<32><<<64, 64>>>(a); plain<<<64, 64>>>(a); plain<<<8, 32>>>(a); } return cudaDeviceSynchronize(); }
  tile<16><<<64, 64>>>(a); tile<32><<<64, 64>>>(a); tile<116><<<64, 64>>>(a); tile<-3><<<64, 64>>>(a);
  kinds<true, 3u, 'A', 7, -5><<<1, 32>>>(a); enums<e1, ns::G::g1><<<1, 32>>>(a);
  types<float><<<1, 32>>>(a); types<unsigned int><<<1, 32>>>((unsigned*)a); types<__half><<<1, 32>>>((__half*)a); types<ns::P><<<1, 32>>>((ns::P*)a); types<ns::Box<ns::P, 4>><<<1, 32>>>((ns::Box<ns::P, 4>*)a); types<uint64_t><<<1, 32>>>((uint64_t*)a); types<float*><<<1, 32>>>((float**)a);
  pairs<float, ns::Box<float, 2>><<<1, 32>>>(a, ns::Box<float, 2>());
  ns::vec<float><<<8, 64>>>(a, 9); ns::flat<<<1, 32>>>(a); ns::in::flat<<<1, 32>>>(a); hid<5><<<1, 32>>>(a); fptr<twice><<<1, 32>>>(a);
  lam<<<1, 32>>>([] __device__(float x) { return x + 1; }, a); pack<1, 2, 3><<<1, 32>>>(a); over<<<1, 32>>>(a); over<<<1, 32>>>(a, 2);
  plain<<<16, 32>>>(a); plain<<<512, 256>>>(a);
  return cudaDeviceSynchronize();
}
