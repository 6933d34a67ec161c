/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes and verifies the bytes of a stream (uapi/pattern.h). What verifies ends this process
 * with a report if there is another byte.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* words of the stream, the first of which is the one that pos is in */
void pattern_fill(uint64_t *words, size_t count, uint64_t pos, uint64_t seed);
void pattern_verify_byte(unsigned char byte, uint64_t pos, uint64_t seed);
void pattern_verify_bytes(const unsigned char *bytes, uint64_t pos, size_t len, uint64_t seed);
/* the same, much faster, in a buffer which is aligned as the stream is: its first byte would
 * be that of the word that pos is in
 */
void pattern_verify(const uint64_t *buffer, uint64_t pos, size_t len, uint64_t seed);

#endif
