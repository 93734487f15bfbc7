// A plugin whose library is not on the tests' search path.
extern "C" int twb_test_gone();
extern "C" __attribute__((visibility("default"))) int twb_cuda_build() { return twb_test_gone(); }
