/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of a scheduler's view and answer; see uapi/probe.h. */
#ifndef _MPTCP_LAB_STATES_H
#define _MPTCP_LAB_STATES_H

#include "framework.h"
#include "stream.h"
#include "trace.h"

/* number: the connection's. The caller is the stream's only writer. */
void states_put_question(struct record_stream *stream, u32 number, const struct mps_conn *conn);
/* pick: NULL for a wait */
void states_put_answer(struct record_stream *stream, u32 number, const struct mps_pick *pick);
void states_put_done(struct record_stream *stream, u32 number,
		     const struct mps_subflow *subflow, const struct mps_decision *decision);

#endif
