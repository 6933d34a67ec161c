// SPDX-License-Identifier: GPL-2.0-only
/* What the processes of the traffic, or of the programs, report to init. */

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base.h"
#include "report.h"

static int report_fd;

void report_to(int fd)
{
	report_fd = fd;
}

void tell(enum report_kind kind, uint64_t a, uint64_t b, const char *text)
{
	struct report m = { .kind = kind, .calls = calls, .a = a, .b = b };

	snprintf(m.text, sizeof(m.text), "%s", text);
	if (write(report_fd, &m, sizeof(m)) != sizeof(m))
		_exit(1);
}

void fail(const char *format, ...)
{
	char text[sizeof(((struct report *)NULL)->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tell(REPORT_ERROR, 0, 0, text);
	_exit(1);
}
