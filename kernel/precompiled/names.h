/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel's build defines for each file on the command line: the
 * compiler refuses precompiled headers that mention such a name. So the build
 * defines other names, and these are read after the precompiled headers.
 */
#define KBUILD_BASENAME LAB_BASENAME
#define KBUILD_MODFILE LAB_MODFILE
#define KBUILD_MODNAME LAB_MODNAME
#define __KBUILD_MODNAME LAB_KMODNAME
