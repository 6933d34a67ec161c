/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracepoints of the schedulers' decisions. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mptcp_sched

#if !defined(_MPTCP_LAB_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _MPTCP_LAB_TRACE_H

#include <linux/tracepoint.h>

#ifndef _MPTCP_LAB_DECISION
#define _MPTCP_LAB_DECISION
/* kinds beside those of enum mps_kind */
#define DECISION_WAIT		0
#define DECISION_REFUSED	5
#define DECISION_FORCED		6
#define DECISION_EVENT		7	/* length: the number of mps_event() */

struct mps_decision {
	u64	time_ns;
	u64	seq;
	u32	length;
	u8	kind;
};
#endif

/* The question to the scheduler, and its answer. pick: NULL for a wait. Only decisions.c uses
 * these two: they are no events of the kernel's tracing.
 */
DECLARE_TRACE(mps_question,
	TP_PROTO(const struct mps_conn *conn),
	TP_ARGS(conn));

DECLARE_TRACE(mps_answer,
	TP_PROTO(const struct mps_conn *conn, const struct mps_pick *pick),
	TP_ARGS(conn, pick));

/* subflow: NULL for a wait */
TRACE_EVENT(mps_decision,
	TP_PROTO(const struct mps_conn *conn, const struct mps_subflow *subflow,
		 const struct mps_decision *decision),

	TP_ARGS(conn, subflow, decision),

	TP_STRUCT__entry(
		__field(u64, time_ns)
		__field(u64, seq)
		__field(const void *, conn)
		__field(u32, length)
		__field(u32, subflow)
		__field(u8, kind)
	),

	TP_fast_assign(
		__entry->time_ns = decision->time_ns;
		__entry->seq = decision->seq;
		__entry->conn = conn;
		__entry->length = decision->length;
		__entry->subflow = subflow ? subflow->id : 0;
		__entry->kind = decision->kind;
	),

	TP_printk("conn=%p time_ns=%llu %s subflow=%u seq=%llu length=%u",
		  __entry->conn, __entry->time_ns,
		  __print_symbolic(__entry->kind,
				   { DECISION_WAIT, "wait" },
				   { MPS_NEW, "new" },
				   { MPS_REINJECTION, "reinjection" },
				   { MPS_DUPLICATE, "duplicate" },
				   { MPS_DROP, "dropped" },
				   { DECISION_REFUSED, "refused" },
				   { DECISION_FORCED, "forced" },
				   { DECISION_EVENT, "event" }),
		  __entry->subflow, __entry->seq, __entry->length)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH ../../net/mptcp/lab
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
