/*
 * stream.c
 *		The loop of a sync worker: read WAL, decode, commit to the lake in time.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlogreader.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "replication/decode.h"
#include "replication/logical.h"
#include "storage/latch.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "sync/slot.h"
#include "sync/stream.h"
#include "sync/streamed.h"

#define SHORTEST_SLEEP_MS 4
#define LONGEST_SLEEP_MS 100
#define RECORDS_BETWEEN_LOOKS 1024
#define CONFIRM_INTERVAL_MS 1000	/* of an idle stream */
#define STANDBY_STALL_MS 1000
#define STANDBY_WARNING_MS 60000

static TimestampTz
flush_deadline(const SyncStream *stream)
{
	return stream->pending_since + stream->sync->flush_interval;
}

void
stream_flush_if_due(SyncStream *stream)
{
	if (stream->pending && (stream->full || stream->careful || GetCurrentTimestamp() >= flush_deadline(stream)))
		apply_flush(stream);
}

/* Tell that standbys have been waited for since then; true if those that are not connected are to be named in the log, too. */
static bool
tell_of_standbys(const SyncStream *stream, TimestampTz since)
{
	static TimestampTz told = 0;
	TimestampTz now = GetCurrentTimestamp();
	bool		stalled = TimestampDifferenceExceeds(since, now, STANDBY_STALL_MS);

	stream->monitor->awaits_standbys(stalled);
	if (!stalled || !TimestampDifferenceExceeds(told, now, STANDBY_WARNING_MS))
		return false;
	told = now;
	return true;
}

/*
 * The end of what may be decoded: all that is on disk, or what the standbys have
 * that are to take over without loss.  While they keep receiving, the end is never
 * theirs: one of before is waited for.
 */
static XLogRecPtr
readable_end(const SyncStream *stream)
{
	static XLogRecPtr confirmed = InvalidXLogRecPtr;
	static XLogRecPtr awaited = InvalidXLogRecPtr;
	static TimestampTz awaited_since = 0;
	const char *slot = stream->sync->slot;
	XLogRecPtr	end = GetFlushRecPtr(NULL);

	if (sync_slot_standbys_have(slot, end, false))
	{
		stream->monitor->awaits_standbys(false);
		return end;
	}
	if (awaited > confirmed && sync_slot_standbys_have(slot, awaited, tell_of_standbys(stream, awaited_since)))
		confirmed = awaited;
	if (awaited <= confirmed)
	{
		awaited = end;
		awaited_since = GetCurrentTimestamp();
	}
	return confirmed;
}

/*
 * Decode what may be decoded.  Each record may end a transaction, which core
 * aborts: memory context and resource owner are put back.  True if there was
 * anything.
 */
static bool
decode_available(SyncStream *stream, LogicalDecodingContext *decoding)
{
	XLogReaderState *reader = decoding->reader;
	ResourceOwner owner = CurrentResourceOwner;
	XLogRecPtr	start = reader->EndRecPtr;
	XLogRecPtr	end = readable_end(stream);
	int			records = 0;

	decoding->streaming = streamed_is_allowed(stream, start);
	while (reader->EndRecPtr < end)
	{
		char	   *problem = NULL;
		XLogRecord *record = XLogReadRecord(reader, &problem);

		if (problem)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("could not read WAL at %X/%X: %s", LSN_FORMAT_ARGS(reader->EndRecPtr), problem)));
		if (record)
			LogicalDecodingProcessRecord(decoding, reader);
		CurrentResourceOwner = owner;
		MemoryContextSwitchTo(stream->context);
		CHECK_FOR_INTERRUPTS();
		stream_flush_if_due(stream);
		if (++records % RECORDS_BETWEEN_LOOKS == 0 && !stream->monitor->wanted())
			break;
	}
	return reader->EndRecPtr > start;
}

/*
 * All that was read is in the lake, so the slot may move on, whatever other
 * tables and databases wrote meanwhile.
 */
static void
confirm_idle_position(SyncStream *stream, XLogRecPtr position)
{
	static TimestampTz confirmed_at = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (position > stream->visible)
	{
		stream->visible = position;
		stream->monitor->reached(position, 0);
	}
	if (!stream->frozen && position > MyReplicationSlot->data.confirmed_flush &&
		TimestampDifferenceExceeds(confirmed_at, now, CONFIRM_INTERVAL_MS))
	{
		stream->confirm(stream, position, false);
		confirmed_at = now;
	}
}

long
stream_rest(const SyncStream *stream, long milliseconds)
{
	if (stream->pending)
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), flush_deadline(stream));

		milliseconds = Min(milliseconds, left);
	}
	return milliseconds;
}

static void
sleep_until_needed(SyncStream *stream, long milliseconds)
{
	milliseconds = stream_rest(stream, milliseconds);
	if (milliseconds > 0)
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

static void
confirm(SyncStream *stream, XLogRecPtr lsn, bool durable)
{
	sync_slot_confirm(lsn, durable);
}

void
stream_run(SyncStream *stream)
{
	LogicalDecodingContext *decoding = sync_slot_open(stream->sync->slot, stream);
	long		sleep_ms = SHORTEST_SLEEP_MS;

	stream->confirm = confirm;
	streamed_prepare(stream);
	stream->visible = MyReplicationSlot->data.confirmed_flush;
	stream->monitor->reached(stream->visible, 0);
	while (stream->monitor->wanted())
	{
		bool		active = decode_available(stream, decoding);

		if (stream->pending && stream->monitor->flush_request() > stream->visible)
			apply_flush(stream);
		stream_flush_if_due(stream);
		if (!stream->pending)
		{
			confirm_idle_position(stream, decoding->reader->EndRecPtr);
			stream->monitor->healthy();
			stream->careful = false;
			apply_record_counts(stream, false);
		}

		sleep_ms = active ? SHORTEST_SLEEP_MS : Min(sleep_ms * 2, LONGEST_SLEEP_MS);
		sleep_until_needed(stream, sleep_ms);
		CHECK_FOR_INTERRUPTS();
	}

	if (stream->pending)
		apply_flush(stream);
	FreeDecodingContext(decoding);
	ReplicationSlotRelease();
	apply_record_counts(stream, true);
}
