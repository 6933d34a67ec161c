/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes and verifies the bytes of a stream (uapi/pattern.h). A wrong byte is reported, and ends
 * this process.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* with the word that pos is in, and those after it */
void pattern_fill(uint64_t *words, size_t count, uint64_t pos, uint64_t seed);
void pattern_verify_byte(unsigned char byte, uint64_t pos, uint64_t seed);
void pattern_verify_bytes(const unsigned char *bytes, uint64_t pos, size_t len, uint64_t seed);
/* the same, much faster, of bytes that lie in the buffer as in the stream: it begins with the
 * word that pos is in
 */
void pattern_verify(const uint64_t *buffer, uint64_t pos, size_t len, uint64_t seed);

#endif
