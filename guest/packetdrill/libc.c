// SPDX-License-Identifier: GPL-2.0-only
/* What packetdrill asks of a kernel and the lab's does not give, in a library
 * that is loaded before libc (LD_PRELOAD) and answers in its place.
 *
 * Hashes, by sockets of AF_ALG: the lab kernel has none, as nothing else needs
 * them. Here are "sha256" and "hmac(sha256)", all that version 1 of MPTCP uses.
 * As in the kernel, bind() says which, ALG_SET_KEY sets the key, accept() gives a
 * socket for messages, send() adds to one, and recv() has the hash of what was
 * sent since the last recv().
 *
 * The time: packetdrill calls times() until it has seen ten ticks. Where computing
 * takes no time, this takes a second of the CPU; here each call sleeps.
 *
 * SHA-256 is FIPS 180-4, HMAC is RFC 2104. packetdrill computes a hash from one
 * thread at a time.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/if_alg.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/times.h>
#include <sys/types.h>
#include <time.h>

#define BLOCK 64
#define HASH 32
#define MESSAGE 4096
#define SOCKETS 1024
#define PLAIN "sha256"
#define KEYED "hmac(sha256)"

/* What a socket of AF_ALG was told, by its file descriptor. */
static struct alg {
	int used;
	int keyed;
	uint8_t key[BLOCK];
	uint8_t message[BLOCK + MESSAGE];
	size_t length;
} sockets[SOCKETS];

static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotated(uint32_t word, int bits)
{
	return word >> bits | word << (32 - bits);
}

static uint32_t read_word(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static void add_block(uint32_t state[8], const uint8_t *block)
{
	uint32_t schedule[64], now[8];
	int i;

	for (i = 0; i < 16; i++)
		schedule[i] = read_word(block + 4 * i);
	for (; i < 64; i++) {
		uint32_t a = schedule[i - 15], b = schedule[i - 2];

		schedule[i] = schedule[i - 16] + schedule[i - 7] +
			      (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
			      (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
	}
	memcpy(now, state, sizeof(now));
	for (i = 0; i < 64; i++) {
		uint32_t a = now[0], e = now[4];
		uint32_t one = now[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
			       ((e & now[5]) ^ (~e & now[6])) + constants[i] + schedule[i];
		uint32_t two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
			       ((a & now[1]) ^ (a & now[2]) ^ (now[1] & now[2]));

		memmove(now + 1, now, 7 * sizeof(*now));
		now[4] += one;
		now[0] = one + two;
	}
	for (i = 0; i < 8; i++)
		state[i] += now[i];
}

static void sha256(const uint8_t *message, size_t length, uint8_t hash[HASH])
{
	uint32_t state[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};
	uint8_t last[2 * BLOCK] = { 0 };
	size_t rest = length % BLOCK, end = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK, at;

	for (at = 0; at + BLOCK <= length; at += BLOCK)
		add_block(state, message + at);
	memcpy(last, message + at, rest);
	last[rest] = 0x80;
	for (at = 0; at < 8; at++)
		last[end - 1 - at] = (uint64_t)length * 8 >> 8 * at;
	for (at = 0; at < end; at += BLOCK)
		add_block(state, last + at);
	for (at = 0; at < HASH; at++)
		hash[at] = state[at / 4] >> (24 - 8 * (at % 4));
}

/* The key fits into a block, or is hashed: RFC 2104. */
static void set_key(struct alg *alg, const uint8_t *key, size_t length)
{
	memset(alg->key, 0, sizeof(alg->key));
	if (length > BLOCK)
		sha256(key, length, alg->key);
	else
		memcpy(alg->key, key, length);
}

static void finish(struct alg *alg, uint8_t hash[HASH])
{
	uint8_t *message = alg->message, outer[BLOCK + HASH];
	int i;

	if (!alg->keyed) {
		sha256(message + BLOCK, alg->length, hash);
		return;
	}
	for (i = 0; i < BLOCK; i++) {
		message[i] = alg->key[i] ^ 0x36;
		outer[i] = alg->key[i] ^ 0x5c;
	}
	sha256(message, BLOCK + alg->length, outer + BLOCK);
	sha256(outer, sizeof(outer), hash);
}

static struct alg *of(int fd)
{
	return fd >= 0 && fd < SOCKETS && sockets[fd].used ? &sockets[fd] : NULL;
}

/* A socket is a file descriptor of something else, which nobody else has. */
static int new_socket(const struct alg *like)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		return fd;
	if (fd >= SOCKETS) {
		errno = EMFILE;
		return -1;
	}
	memset(&sockets[fd], 0, sizeof(sockets[fd]));
	if (like)
		sockets[fd] = *like;
	sockets[fd].used = 1;
	return fd;
}

/* The function of libc that this library stands before. */
#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int socket(int domain, int type, int protocol)
{
	return domain == AF_ALG ? new_socket(NULL) : REAL(socket)(domain, type, protocol);
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	const struct sockaddr_alg *which = (const void *)address;
	struct alg *alg = of(fd);

	if (!alg)
		return REAL(bind)(fd, address, length);
	alg->keyed = !strcmp((const char *)which->salg_name, KEYED);
	if (alg->keyed || !strcmp((const char *)which->salg_name, PLAIN))
		return 0;
	errno = ENOENT;
	return -1;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	struct alg *alg = of(fd);

	if (!alg)
		return REAL(setsockopt)(fd, level, name, value, length);
	if (level != SOL_ALG || name != ALG_SET_KEY) {
		errno = ENOPROTOOPT;
		return -1;
	}
	set_key(alg, value, length);
	return 0;
}

int accept(int fd, struct sockaddr *address, socklen_t *length)
{
	struct alg *alg = of(fd);

	return alg ? new_socket(alg) : REAL(accept)(fd, address, length);
}

ssize_t send(int fd, const void *bytes, size_t length, int flags)
{
	struct alg *alg = of(fd);

	if (!alg)
		return REAL(send)(fd, bytes, length, flags);
	if (length > MESSAGE - alg->length) {
		errno = EMSGSIZE;
		return -1;
	}
	memcpy(alg->message + BLOCK + alg->length, bytes, length);
	alg->length += length;
	return length;
}

ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
	struct alg *alg = of(fd);
	uint8_t hash[HASH];

	if (!alg)
		return REAL(recv)(fd, bytes, length, flags);
	finish(alg, hash);
	alg->length = 0;
	if (length > HASH)
		length = HASH;
	memcpy(bytes, hash, length);
	return length;
}

/* Later by a tick of times(), and by whole ticks of the kernel, which has 250 a second. */
#define TICKS_NS 20000000

clock_t times(struct tms *used)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICKS_NS - until.tv_nsec % TICKS_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	return REAL(times)(used);
}

int close(int fd)
{
	if (of(fd))
		sockets[fd].used = 0;
	return REAL(close)(fd);
}
