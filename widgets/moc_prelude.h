// Read by moc before each file. moc 6.4 cannot parse <concepts>, which <compare> includes, unless libstdc++'s
// configuration macros were seen first.
#include <cstddef>
