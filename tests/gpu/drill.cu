// Launches a few kernels of tests/kernels/validation.cu, each once, without being told which: a command
// that ncu is given from an export knows the program but not its arguments.
//
//   nvcc -arch=native -O3 -lineinfo --extended-lambda -DLABELS='"copy4,chains-1"' -o drill drill.cu
//   ./drill         launches them
//   ./drill list    lists them: LABEL,KERNEL
#define main validation_main
#include "../kernels/validation.cu"
#undef main

int main(int argc, char** argv) {
  std::string program = "drill", mode = argc > 1 ? argv[1] : "once", labels = LABELS;
  char* arguments[] = {program.data(), mode.data(), labels.data(), nullptr};
  return validation_main(3, arguments);
}
