/*
 * error.c
 *		ereport without a server.
 *
 * Errors jump to PG_exception_stack as in the server; without one they print
 * themselves and end the program.  Warnings and notices are kept for the test
 * to look at, and printed when UNIT_VERBOSE is set.
 */
#include "postgres.h"

#include <signal.h>

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "shim.h"

#define MAX_NESTED_ERRORS 5

ErrorContextCallback *error_context_stack = NULL;
sigjmp_buf *PG_exception_stack = NULL;

volatile sig_atomic_t InterruptPending = false;
volatile sig_atomic_t QueryCancelPending = false;
volatile sig_atomic_t ProcDiePending = false;
volatile uint32 InterruptHoldoffCount = 0;
volatile uint32 QueryCancelHoldoffCount = 0;
volatile uint32 CritSectionCount = 0;

static ErrorData errors[MAX_NESTED_ERRORS];
static int	depth = -1;			/* of errors; -1: none */
static char *last_message;		/* of the last WARNING, NOTICE or LOG, malloc'd */

const char *
shim_last_message(void)
{
	return last_message;
}

void
shim_forget_messages(void)
{
	free(last_message);
	last_message = NULL;
}

/* ---- raising ---- */

bool
message_level_is_interesting(int elevel)
{
	return elevel >= LOG;
}

bool
errstart(int elevel, const char *domain)
{
	ErrorData  *error;

	if (!message_level_is_interesting(elevel))
		return false;
	if (CritSectionCount > 0 && elevel >= ERROR)
		elevel = PANIC;
	if (++depth >= MAX_NESTED_ERRORS)
	{
		fprintf(stderr, "errors within errors\n");
		abort();
	}
	error = &errors[depth];
	memset(error, 0, sizeof(ErrorData));
	error->elevel = elevel;
	error->saved_errno = errno;
	error->sqlerrcode = elevel >= ERROR ? ERRCODE_INTERNAL_ERROR :
		(elevel >= WARNING ? ERRCODE_WARNING : ERRCODE_SUCCESSFUL_COMPLETION);
	error->assoc_context = ErrorContext;
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

static void
print_error(const ErrorData *error)
{
	fprintf(stderr, "# %s: %s\n", error->elevel >= ERROR ? "ERROR" : "MESSAGE",
			error->message ? error->message : "(no message)");
	if (error->detail)
		fprintf(stderr, "#   DETAIL: %s\n", error->detail);
	if (error->hint)
		fprintf(stderr, "#   HINT: %s\n", error->hint);
	if (error->context)
		fprintf(stderr, "#   CONTEXT: %s\n", error->context);
	if (error->filename)
		fprintf(stderr, "#   at %s:%d\n", error->filename, error->lineno);
}

static void
finish_message(const ErrorData *error)
{
	shim_forget_messages();
	last_message = strdup(error->message ? error->message : "");
	if (getenv("UNIT_VERBOSE") != NULL)
		print_error(error);
	depth--;
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	ErrorData  *error = &errors[depth];
	MemoryContext previous = MemoryContextSwitchTo(ErrorContext);

	error->filename = filename;
	error->lineno = lineno;
	error->funcname = funcname;
	for (ErrorContextCallback *callback = error_context_stack; callback != NULL;
		 callback = callback->previous)
		callback->callback(callback->arg);

	if (error->elevel < ERROR)
	{
		finish_message(error);
		MemoryContextSwitchTo(previous);
		errno = error->saved_errno;
		return;
	}
	if (error->elevel > ERROR)
	{
		print_error(error);
		abort();
	}
	InterruptHoldoffCount = 0;
	QueryCancelHoldoffCount = 0;
	pg_re_throw();
}

void
pg_re_throw(void)
{
	if (PG_exception_stack != NULL)
		siglongjmp(*PG_exception_stack, 1);
	print_error(&errors[Max(depth, 0)]);
	exit(1);
}

/* ---- the parts of a message ---- */

static char *
format_message(const char *format, va_list arguments)
{
	MemoryContext previous = MemoryContextSwitchTo(ErrorContext);
	StringInfoData text;
	int			needed;

	initStringInfo(&text);
	do
	{
		va_list		copy;

		va_copy(copy, arguments);
		errno = errors[depth].saved_errno;	/* for %m */
		needed = appendStringInfoVA(&text, format, copy);
		va_end(copy);
		if (needed > 0)
			enlargeStringInfo(&text, needed);
	} while (needed > 0);
	MemoryContextSwitchTo(previous);
	return text.data;
}

#define FORMAT_INTO(target, format) \
	do { \
		va_list		arguments; \
		va_start(arguments, format); \
		(target) = format_message(format, arguments); \
		va_end(arguments); \
	} while (0)

int
errcode(int sqlerrcode)
{
	errors[depth].sqlerrcode = sqlerrcode;
	return 0;
}

int
errcode_for_file_access(void)
{
	int			code;

	switch (errors[depth].saved_errno)
	{
		case EPERM:
		case EACCES:
		case EROFS:
			code = ERRCODE_INSUFFICIENT_PRIVILEGE;
			break;
		case ENOENT:
			code = ERRCODE_UNDEFINED_FILE;
			break;
		case EEXIST:
			code = ERRCODE_DUPLICATE_FILE;
			break;
		case ENOTDIR:
		case EISDIR:
		case ENOTEMPTY:
			code = ERRCODE_WRONG_OBJECT_TYPE;
			break;
		case ENOSPC:
			code = ERRCODE_DISK_FULL;
			break;
		case ENOMEM:
			code = ERRCODE_OUT_OF_MEMORY;
			break;
		case ENFILE:
		case EMFILE:
			code = ERRCODE_INSUFFICIENT_RESOURCES;
			break;
		case EIO:
			code = ERRCODE_IO_ERROR;
			break;
		default:
			code = ERRCODE_INTERNAL_ERROR;
			break;
	}
	return errcode(code);
}

int
errmsg(const char *fmt,...)
{
	FORMAT_INTO(errors[depth].message, fmt);
	return 0;
}

int
errmsg_internal(const char *fmt,...)
{
	FORMAT_INTO(errors[depth].message, fmt);
	return 0;
}

int
errmsg_plural(const char *fmt_singular, const char *fmt_plural, unsigned long n,...)
{
	va_list		arguments;

	va_start(arguments, n);
	errors[depth].message = format_message(n == 1 ? fmt_singular : fmt_plural, arguments);
	va_end(arguments);
	return 0;
}

int
errdetail(const char *fmt,...)
{
	FORMAT_INTO(errors[depth].detail, fmt);
	return 0;
}

int
errdetail_internal(const char *fmt,...)
{
	FORMAT_INTO(errors[depth].detail, fmt);
	return 0;
}

int
errdetail_log(const char *fmt,...)
{
	FORMAT_INTO(errors[depth].detail_log, fmt);
	return 0;
}

int
errdetail_plural(const char *fmt_singular, const char *fmt_plural, unsigned long n,...)
{
	va_list		arguments;

	va_start(arguments, n);
	errors[depth].detail = format_message(n == 1 ? fmt_singular : fmt_plural, arguments);
	va_end(arguments);
	return 0;
}

int
errhint(const char *fmt,...)
{
	FORMAT_INTO(errors[depth].hint, fmt);
	return 0;
}

int
set_errcontext_domain(const char *domain)
{
	return 0;
}

/* Lines of context add up, the innermost first. */
int
errcontext_msg(const char *fmt,...)
{
	char	   *before = errors[depth].context;
	char	   *line;

	FORMAT_INTO(line, fmt);
	if (before != NULL)
	{
		MemoryContext previous = MemoryContextSwitchTo(ErrorContext);

		line = psprintf("%s\n%s", before, line);
		MemoryContextSwitchTo(previous);
	}
	errors[depth].context = line;
	return 0;
}

int
errhidestmt(bool hide_stmt)
{
	return 0;
}

int
errhidecontext(bool hide_ctx)
{
	return 0;
}

int
geterrcode(void)
{
	return errors[depth].sqlerrcode;
}

/* ---- catching ---- */

static char *
copy_text(const char *text)
{
	return text == NULL ? NULL : pstrdup(text);
}

ErrorData *
CopyErrorData(void)
{
	ErrorData  *copy = (ErrorData *) palloc(sizeof(ErrorData));

	*copy = errors[depth];
	copy->message = copy_text(copy->message);
	copy->detail = copy_text(copy->detail);
	copy->detail_log = copy_text(copy->detail_log);
	copy->hint = copy_text(copy->hint);
	copy->context = copy_text(copy->context);
	copy->assoc_context = CurrentMemoryContext;
	return copy;
}

static void
free_text(char *text)
{
	if (text != NULL)
		pfree(text);
}

void
FreeErrorData(ErrorData *edata)
{
	free_text(edata->message);
	free_text(edata->detail);
	free_text(edata->detail_log);
	free_text(edata->hint);
	free_text(edata->context);
	pfree(edata);
}

void
FlushErrorState(void)
{
	depth = -1;
	MemoryContextReset(ErrorContext);
}

/* Put a copy back on the stack, as the error in flight. */
static void
push_copy(const ErrorData *edata)
{
	MemoryContext previous;

	if (!errstart(edata->elevel, NULL))
		return;
	previous = MemoryContextSwitchTo(ErrorContext);
	errors[depth] = *edata;
	errors[depth].message = copy_text(edata->message);
	errors[depth].detail = copy_text(edata->detail);
	errors[depth].detail_log = copy_text(edata->detail_log);
	errors[depth].hint = copy_text(edata->hint);
	errors[depth].context = copy_text(edata->context);
	errors[depth].assoc_context = ErrorContext;
	MemoryContextSwitchTo(previous);
}

void
ReThrowError(ErrorData *edata)
{
	push_copy(edata);
	MemoryContextSwitchTo(ErrorContext);
	pg_re_throw();
}

void
ThrowErrorData(ErrorData *edata)
{
	push_copy(edata);
	errfinish(edata->filename, edata->lineno, edata->funcname);
}

void
EmitErrorReport(void)
{
	print_error(&errors[depth]);
}

void
ExceptionalCondition(const char *conditionName,
#if PG_VERSION_NUM < 160000
					 const char *errorType,
#endif
					 const char *fileName, int lineNumber)
{
	fprintf(stderr, "assertion failed: %s at %s:%d\n", conditionName, fileName, lineNumber);
	abort();
}

/* A test that sets InterruptPending has the next check cancel. */
void
ProcessInterrupts(void)
{
	if (InterruptHoldoffCount != 0 || CritSectionCount != 0)
		return;
	InterruptPending = false;
	ereport(ERROR,
			(errcode(ERRCODE_QUERY_CANCELED),
			 errmsg("canceling statement due to user request")));
}
