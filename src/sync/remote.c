/*
 * remote.c
 *		Connections to the server of a sync whose source is elsewhere.
 */
#include "postgres.h"

#include "libpq-fe.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "replication/walreceiver.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "sync/remote.h"

#define CONNECT_TIMEOUT_MS 10000
#define LONGEST_WAIT_MS 1000

/*
 * What the text of values depends on, and what could end a session before its time;
 * and who may not see all rows of a table is not to see some of them.
 */
#define SESSION_SETTINGS \
	"SELECT pg_catalog.set_config('search_path', 'pg_catalog', false)," \
	" pg_catalog.set_config('datestyle', 'ISO, YMD', false)," \
	" pg_catalog.set_config('intervalstyle', 'postgres', false)," \
	" pg_catalog.set_config('timezone', 'UTC', false)," \
	" pg_catalog.set_config('extra_float_digits', '3', false)," \
	" pg_catalog.set_config('bytea_output', 'hex', false)," \
	" pg_catalog.set_config('row_security', 'off', false)," \
	" pg_catalog.set_config('statement_timeout', '0', false)," \
	" pg_catalog.set_config('lock_timeout', '0', false)," \
	" pg_catalog.set_config('idle_in_transaction_session_timeout', '0', false)," \
	" CASE WHEN pg_catalog.current_setting('idle_session_timeout', true) IS NOT NULL" \
	" THEN pg_catalog.set_config('idle_session_timeout', '0', false) END," \
	" CASE WHEN pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL" \
	" THEN pg_catalog.set_config('transaction_timeout', '0', false) END"

struct RemoteConnection
{
	PGconn	   *conn;
	const char *label;
	char	   *message;		/* of a COPY, of libpq */
	bool		counted;		/* as a file that libpq has open */
	MemoryContextCallback at_end;
};

static void
disconnect(void *arg)
{
	RemoteConnection *remote = arg;

	if (remote->message)
		PQfreemem(remote->message);
	if (remote->conn)
		PQfinish(remote->conn);
	if (remote->counted)
		ReleaseExternalFD();
	remote->message = NULL;
	remote->conn = NULL;
	remote->counted = false;
}

void
remote_close(RemoteConnection *remote)
{
	disconnect(remote);
}

int
remote_version(const RemoteConnection *remote)
{
	return PQserverVersion(remote->conn);
}

/* A message of libpq, without the end of its line. */
static char *
message_text(const char *message)
{
	return message && message[0] ? pchomp(message) : pstrdup("the connection was lost");
}

pg_noreturn static void
raise_lost(const RemoteConnection *remote)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("lost the source %s: %s", remote->label, message_text(PQerrorMessage(remote->conn)))));
}

pg_noreturn static void
raise_result(const RemoteConnection *remote, PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	char	   *message = message_text(primary ? primary : PQerrorMessage(remote->conn));
	int			code = ERRCODE_CONNECTION_FAILURE;

	if (state)
		code = MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
	detail = detail ? pstrdup(detail) : NULL;
	hint = hint ? pstrdup(hint) : NULL;
	PQclear(result);
	ereport(ERROR,
			(errcode(code),
			 errmsg("the source %s says: %s", remote->label, message),
			 detail ? errdetail_internal("%s", detail) : 0,
			 hint ? errhint("%s", hint) : 0));
}

/* ---- waiting ---- */

static void
wait_for_socket(RemoteConnection *remote, int event, long milliseconds)
{
	int			events = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | event,
										   PQsocket(remote->conn), milliseconds, PG_WAIT_EXTENSION);

	if (events & WL_LATCH_SET)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

void
remote_wait(RemoteConnection *remote, long milliseconds)
{
	wait_for_socket(remote, WL_SOCKET_READABLE, milliseconds);
}

static void
receive_input(RemoteConnection *remote)
{
	if (!PQconsumeInput(remote->conn))
		raise_lost(remote);
}

static void
flush_output(RemoteConnection *remote)
{
	int			left;

	while ((left = PQflush(remote->conn)) > 0)
	{
		wait_for_socket(remote, WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE, LONGEST_WAIT_MS);
		receive_input(remote);
	}
	if (left < 0)
		raise_lost(remote);
}

/* TCP notices a server that is gone, but not one that stands still. */
static void
require_answer(const RemoteConnection *remote, TimestampTz asked_at)
{
	if (wal_receiver_timeout > 0 && TimestampDifferenceExceeds(asked_at, GetCurrentTimestamp(), wal_receiver_timeout))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("the source %s does not answer any more", remote->label)));
}

/* The next result of a command, NULL after the last one.  patient: it may take its time. */
static PGresult *
next_result(RemoteConnection *remote, bool patient)
{
	TimestampTz asked_at = GetCurrentTimestamp();

	while (PQisBusy(remote->conn))
	{
		if (!patient)
			require_answer(remote, asked_at);
		remote_wait(remote, LONGEST_WAIT_MS);
		receive_input(remote);
	}
	return PQgetResult(remote->conn);
}

/* ---- connecting ---- */

/* Connections of whoever is no superuser must not borrow the rights of the server's operating system user. */
static void
require_password(const char *connection, const PGconn *conn, Oid owner)
{
	PQconninfoOption *options;
	PQconninfoOption *option;
	bool		given = false;

	if (superuser_arg(owner))
		return;
	options = PQconninfoParse(connection, NULL);
	for (option = options; option && option->keyword; option++)
		given |= strcmp(option->keyword, "password") == 0 && option->val && option->val[0];
	PQconninfoFree(options);
	if (!given || (conn && !PQconnectionUsedPassword(conn)))
		ereport(ERROR,
				(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
				 errmsg("password is required"),
				 errdetail("Roles without superuser must give a password in \"connection\", and the source must ask for it.")));
}

char *
remote_label(const char *connection, Oid owner)
{
	static const char *const shown[] = {"host", "hostaddr", "port", "dbname"};
	char	   *problem = NULL;
	PQconninfoOption *options = PQconninfoParse(connection, &problem);
	PQconninfoOption *option;
	StringInfoData label;
	int			i;

	if (options == NULL)
	{
		char	   *text = message_text(problem);

		PQfreemem(problem);
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("invalid connection string: %s", text)));
	}
	initStringInfo(&label);
	for (i = 0; i < lengthof(shown); i++)
	{
		for (option = options; option->keyword; option++)
		{
			if (strcmp(option->keyword, shown[i]) == 0 && option->val)
				appendStringInfo(&label, "%s%s=%s", label.len > 0 ? " " : "", shown[i], option->val);
		}
	}
	PQconninfoFree(options);
	require_password(connection, NULL, owner);
	return label.data;
}

static void
start_connection(RemoteConnection *remote, const SyncRecord *sync, bool replication)
{
	/* what stands before the string holds unless it says otherwise: a server that is gone is noticed */
	const char *keywords[] = {"keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "fallback_application_name",
	"dbname", "client_encoding", "replication", NULL};
	const char *values[] = {"30", "10", "3", "60000", "streamhouse",
	sync->connection, GetDatabaseEncodingName(), replication ? "database" : NULL, NULL};

	if (!AcquireExternalFD())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not connect to the source %s: too many files are open", remote->label)));
	remote->counted = true;
	remote->conn = PQconnectStartParams(keywords, values, true);
	if (remote->conn == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
}

static void
ignore_notice(void *arg, const char *message)
{
}

static void
finish_connection(RemoteConnection *remote)
{
	TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CONNECT_TIMEOUT_MS);
	PostgresPollingStatusType status = PQstatus(remote->conn) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;

	while (status != PGRES_POLLING_OK)
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		if (status == PGRES_POLLING_FAILED || left <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
					 errmsg("could not connect to the source: %s",
							left <= 0 ? psprintf("%s does not answer", remote->label) : message_text(PQerrorMessage(remote->conn)))));
		wait_for_socket(remote, status == PGRES_POLLING_READING ? WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE,
						Min(left, LONGEST_WAIT_MS));
		status = PQconnectPoll(remote->conn);
	}
	if (PQsetnonblocking(remote->conn, 1) != 0)
		raise_lost(remote);
}

RemoteConnection *
remote_connect(const SyncRecord *sync, bool replication)
{
	RemoteConnection *remote = palloc0(sizeof(RemoteConnection));

	remote->label = sync->remote;
	remote->at_end.func = disconnect;
	remote->at_end.arg = remote;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &remote->at_end);
	require_password(sync->connection, NULL, sync->owner);
	start_connection(remote, sync, replication);
	PQsetNoticeProcessor(remote->conn, ignore_notice, NULL);
	finish_connection(remote);
	require_password(sync->connection, remote->conn, sync->owner);
	(void) remote_query(remote, SESSION_SETTINGS);
	return remote;
}

/* After an error there may be results that nobody has read: then it is not idle. */
RemoteConnection *
remote_session(const SyncRecord *sync)
{
	static MemoryContext context = NULL;
	static RemoteConnection *session = NULL;
	MemoryContext old;

	if (session && PQtransactionStatus(session->conn) == PQTRANS_IDLE)
		return session;
	session = NULL;
	if (context)
		MemoryContextReset(context);	/* closes it */
	else
		context = AllocSetContextCreate(TopMemoryContext, "streamhouse source session", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	session = remote_connect(sync, false);
	MemoryContextSwitchTo(old);
	return session;
}

/* ---- queries ---- */

static void
send_command(RemoteConnection *remote, const char *command)
{
	if (!PQsendQuery(remote->conn, command))
		raise_lost(remote);
	flush_output(remote);
}

static RemoteRows *
rows_of_result(const PGresult *result)
{
	RemoteRows *rows = palloc0(sizeof(RemoteRows));
	int			row;
	int			column;

	rows->nrows = PQntuples(result);
	rows->ncolumns = PQnfields(result);
	rows->values = palloc0(sizeof(char *) * Max(rows->nrows * rows->ncolumns, 1));
	for (row = 0; row < rows->nrows; row++)
	{
		for (column = 0; column < rows->ncolumns; column++)
		{
			if (!PQgetisnull(result, row, column))
				rows->values[row * rows->ncolumns + column] = pstrdup(PQgetvalue(result, row, column));
		}
	}
	return rows;
}

/* Of several commands in one string the last one's rows count. */
static RemoteRows *
run_query(RemoteConnection *remote, const char *query, bool patient)
{
	RemoteRows *rows = NULL;
	PGresult   *result;

	send_command(remote, query);
	while ((result = next_result(remote, patient)) != NULL)
	{
		ExecStatusType status = PQresultStatus(result);

		if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
			raise_result(remote, result);
		rows = rows_of_result(result);
		PQclear(result);
	}
	if (rows == NULL)
		raise_lost(remote);
	return rows;
}

RemoteRows *
remote_query(RemoteConnection *remote, const char *query)
{
	return run_query(remote, query, false);
}

RemoteRows *
remote_query_patiently(RemoteConnection *remote, const char *query)
{
	return run_query(remote, query, true);
}

char *
remote_text(const RemoteRows *rows, int row, int column)
{
	char	   *value = row < rows->nrows && column < rows->ncolumns ? remote_value(rows, row, column) : NULL;

	if (value == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("the source does not answer as a PostgreSQL server does"),
				 errdetail("Column %d of row %d is missing.", column + 1, row + 1)));
	return value;
}

Oid
remote_oid(const RemoteRows *rows, int row, int column)
{
	return (Oid) strtoul(remote_text(rows, row, column), NULL, 10);
}

int64
remote_int(const RemoteRows *rows, int row, int column)
{
	return strtoll(remote_text(rows, row, column), NULL, 10);
}

bool
remote_bool(const RemoteRows *rows, int row, int column)
{
	return strcmp(remote_text(rows, row, column), "t") == 0;
}

XLogRecPtr
remote_lsn(const RemoteRows *rows, int row, int column)
{
	const char *text = remote_text(rows, row, column);
	uint32		high;
	uint32		low;

	if (sscanf(text, "%X/%X", &high, &low) != 2)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("the source gives \"%s\" as a position", text)));
	return (uint64) high << 32 | low;
}

/* ---- COPY and replication ---- */

void
remote_copy_begin(RemoteConnection *remote, const char *command)
{
	PGresult   *result;
	ExecStatusType status;

	send_command(remote, command);
	result = next_result(remote, false);
	if (result == NULL)
		raise_lost(remote);
	status = PQresultStatus(result);
	if (status != PGRES_COPY_OUT && status != PGRES_COPY_BOTH)
		raise_result(remote, result);
	PQclear(result);
}

/* The end of a COPY: what became of the command. */
static void
end_copy(RemoteConnection *remote)
{
	PGresult   *result;

	while ((result = next_result(remote, true)) != NULL)
	{
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			raise_result(remote, result);
		PQclear(result);
	}
	if (PQstatus(remote->conn) == CONNECTION_BAD)
		raise_lost(remote);
}

int
remote_copy_next(RemoteConnection *remote, bool wait, char **data)
{
	int			length;

	if (remote->message)
		PQfreemem(remote->message);
	remote->message = NULL;
	while ((length = PQgetCopyData(remote->conn, &remote->message, true)) == 0)
	{
		receive_input(remote);
		length = PQgetCopyData(remote->conn, &remote->message, true);
		if (length != 0 || !wait)
			break;
		remote_wait(remote, LONGEST_WAIT_MS);
	}
	if (length == -2)
		raise_lost(remote);
	if (length == -1)
		end_copy(remote);
	*data = remote->message;
	return length;
}

void
remote_copy_send(RemoteConnection *remote, const char *data, int length)
{
	if (PQputCopyData(remote->conn, data, length) <= 0)
		raise_lost(remote);
	flush_output(remote);
}
