/* SPDX-License-Identifier: GPL-2.0-only */
/* nft and conntrack: what plans need of them. */
#ifndef NFT_H
#define NFT_H

#include "words.h"

/* behind the word nft or conntrack, in the command's namespace */
void nft_run(struct command *command);
void conntrack_run(struct command *command);

#endif
