#pragma once

/// Marks what libpare.so shows to its users; all else is hidden.
#if defined(__GNUC__)
#define PARE_API __attribute__((visibility("default")))
#else
#define PARE_API
#endif
