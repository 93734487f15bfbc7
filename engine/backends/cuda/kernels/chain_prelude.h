// The parts of the standard library that element functions need and NVRTC lacks.
#if defined(__CUDACC_RTC__)

namespace std {

using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uintptr_t = unsigned long long;

template <class A, class B> inline constexpr bool is_same_v = false;
template <class A> inline constexpr bool is_same_v<A, A> = true;
template <class T, class... All> inline constexpr bool is_any_of_v = (is_same_v<T, All> || ...);
template <class T>
inline constexpr bool is_integral_v =
    is_any_of_v<T, bool, char, signed char, unsigned char, short, unsigned short, int, unsigned int, long,
                unsigned long, long long, unsigned long long>;
template <class T> inline constexpr bool is_floating_point_v = is_any_of_v<T, float, double>;
template <class T> inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T> inline constexpr bool is_signed_v = is_arithmetic_v<T>&& T(-1) < T(0);

template <bool, class A, class> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
template <bool Is, class A, class B> using conditional_t = typename conditional<Is, A, B>::type;
template <class T> struct make_unsigned;
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class A, class B> using common_type_t = decltype(true ? A() : B());

template <class T> struct numeric_limits; // declared only; chains do not use it

template <class To, class From> __host__ __device__ To bit_cast(From from) {
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atanh;
using ::ceil;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::expm1;
using ::fabs;
using ::floor;
using ::fmod;
using ::log;
using ::log1p;
using ::nearbyint;
using ::pow;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;

} // namespace std

#else

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#endif
