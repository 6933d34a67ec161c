/* SPDX-License-Identifier: GPL-2.0-only */
/* The schedule of daps and timetable: in which order the segments of all subflows arrive,
 * if each delivers a window of them again and again.
 *
 * The schedule is not written down: where a subflow's next segment stands in it is
 * computed. Both structures come first in the scheduler's own state, of the connection
 * and of each subflow.
 */
#ifndef _MPTCP_LAB_SCHEDULE_H
#define _MPTCP_LAB_SCHEDULE_H

#include "mpsched.h"

struct schedule {
	/* how it is made: set by init() */
	u32	round_ms;	/* delays are multiples of it */
	u32	us_in_ms;	/* what a millisecond is made of */
	u32	most_ms;	/* a bound of the period */
	bool	planned_cwnd;	/* windows as they were when it was made */
	bool	smooth_cwnd;	/* and smoothed over eight round trips */
	bool	in_ss;		/* also for subflows in slow start after a loss */
	bool	ack_clocked;	/* a window is spread over a round trip */
	bool	with_room;	/* full subflows have no turn */

	u64	period_ms;	/* 0: there is no schedule */
};

struct schedule_subflow {
	/* of the schedule */
	u64	delay_ms;	/* 0: not in it */
	u32	srtt_us;
	u64	cwnd_pkts;
	u64	windows;	/* that it has sent */
	u64	left_pkts;	/* of the next one; 0: all of it */

	bool	takes_part;	/* at present */
	u64	cwnd8_pkts;	/* smoothed, times 8; 0: not yet */
	u64	round_end;	/* acknowledged when it is smoothed the next time */
};

/* Notes which subflows take part now: whose queue moves on. */
void schedule_look(struct mps_conn *conn, bool backups);

/* Begins a schedule of the delays and windows of now. */
void schedule_begin(struct mps_conn *conn);

/* The subflow whose segment is the next one. NULL: the schedule has none any more. */
struct mps_subflow *schedule_next(struct mps_conn *conn);

/* The same; if need be of a schedule that begins now. */
struct mps_subflow *schedule_turn(struct mps_conn *conn);

/* When the subflow's next segment arrives, in us of the schedule. */
u64 schedule_arrival_us(struct mps_conn *conn, struct mps_subflow *subflow);

/* How many segments of `other` come before one of `subflow` that arrives at a time, from
 * the begin of the schedule.
 */
u64 schedule_before(struct mps_conn *conn, struct mps_subflow *other,
		    struct mps_subflow *subflow, u64 us);

/* So many of its segments are sent. */
u64 schedule_sent(struct mps_subflow *subflow);

/* One more of them is sent. */
void schedule_count(struct mps_conn *conn, struct mps_subflow *subflow);

/* What the source does beside the schedule: the subflow with the lowest RTT of those with
 * room that have not carried the segment, or else of all with room.
 */
struct mps_subflow *schedule_lowest_rtt(struct mps_conn *conn, const struct mps_segment *seg,
					bool backups);

/* The oldest segment that a subflow with room has not carried, on the one with the
 * lowest RTT of these.
 */
bool schedule_repeat(struct mps_conn *conn, struct mps_pick *pick);

#endif
