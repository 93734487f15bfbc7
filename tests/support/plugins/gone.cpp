extern "C" __attribute__((visibility("default"))) int twb_test_gone() { return 1; }
