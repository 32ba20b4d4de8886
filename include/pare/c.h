#ifndef PARE_C_H
#define PARE_C_H

/* Calibration for programs that are not written in C++ (python/pare_calibration.py is one): samples are handed over one after the
 * other, and the statistics file is that of `pare calibrate`. Functions return 0, or the exit code that the program would have:
 * 2 usage, 3 input, 4 unsupported or refused, 5 internal, 6 system (include/pare/error.h). */

/* NOLINTBEGIN(modernize-deprecated-headers, modernize-use-using): this is C. */
#include <stddef.h>
#include <stdint.h>

#include "pare/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A calibration under way. Used by one thread at a time; several may be open. */
typedef struct pare_calibration pare_calibration;

/* An array in row-major order, or what the model takes. Element types have ONNX's numbers (TensorProto.DataType): 1 float,
 * 2 uint8, 3 int8, 4 uint16, 5 int16, 6 int32, 7 int64, 9 bool, 10 float16, 11 double, 12 uint32, 13 uint64. */
typedef struct pare_array {
  const char* name;
  int32_t type;
  int32_t rank;         /* -1: the model takes any */
  const int64_t* shape; /* `rank` sizes; -1: the model takes any */
  const void* data;     /* NULL in what pare_calibration_input tells */
} pare_array;

/* Why the last call on this thread failed, in one line; "" before any did. Valid until the next failure on this thread. */
PARE_API const char* pare_last_error(void);

/* Loads and prepares a float ONNX model, and checks that `output` can be written. `shape` as "1x3x544x960", or NULL for the
 * model's own; `threads` 0 for all processors. On success *calibration is to be closed, else it is NULL. */
PARE_API int pare_calibration_open(const char* model, const char* output, const char* shape, int threads,
                                   pare_calibration** calibration);

/* The number of the model's inputs, and what input `index` takes; the strings and sizes live as long as the calibration. */
PARE_API size_t pare_calibration_inputs(const pare_calibration* calibration);
PARE_API int pare_calibration_input(const pare_calibration* calibration, size_t index, pare_array* input);

/* Runs the model on one sample, an array for each input, and measures its tensors. The arrays are copied. A sample may have any
 * length that the model takes, and any number of rows: rows that the model answers independently (the
 * first batch whose rows differ tells) are measured one at a time.
 * `sample` names it in errors. After an error only pare_calibration_close is left to do. */
PARE_API int pare_calibration_add(pare_calibration* calibration, const char* sample, const pare_array* arrays, size_t count);

/* Writes the statistics file, whole or not at all. Where not NULL, *samples and *tensors tell how many were measured. */
PARE_API int pare_calibration_save(pare_calibration* calibration, int64_t* samples, int64_t* tensors);

/* Frees all; writes nothing. NULL is allowed. */
PARE_API void pare_calibration_close(pare_calibration* calibration);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-deprecated-headers, modernize-use-using) */
#endif /* PARE_C_H */
